"""Image names: all that defaulting wants to know is whether one means ``latest``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?P<name>{_DOMAIN}/{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_DIGEST: Final = re.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_LONGEST_NAME: Final = 255


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """``Always`` for an image that means ``latest``, ``IfNotPresent`` for any other, and for what is no image name.

    >>> [pull_policy(image) for image in ("app", "app:1", "host:5000/app", "App")]
    ['Always', 'IfNotPresent', 'Always', 'IfNotPresent']
    """
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    """Return the tag that an image name has or implies; empty if it has a digest instead, or is no image name."""
    if _IDENTIFIER.fullmatch(image):
        return ""
    host, slash, rest = image.partition("/")
    if not slash or not (any(char in host for char in ".:") or host == "localhost" or host.lower() != host):
        host, rest = "docker.io", image
    if host in ("docker.io", "index.docker.io"):
        host, rest = "docker.io", rest if "/" in rest else "library/" + rest
    name = rest.partition(":")[0]
    if name.lower() != name:
        return ""
    match = _REFERENCE.fullmatch(f"{host}/{rest}")
    if match is None or len(match["name"]) > _LONGEST_NAME:
        return ""
    if match["digest"]:
        return match["tag"] or "" if _DIGEST.fullmatch(match["digest"]) else ""
    return match["tag"] or "latest"
