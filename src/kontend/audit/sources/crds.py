"""Which custom resources of a repository declare the status subresource, read from its CRD manifests."""

from __future__ import annotations

from typing import Any

import yaml

from kontend.audit.judge.writers import resource_key

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def status_subresources(manifests: dict[str, bytes], asked: set[str]) -> dict[str, bool]:
    """Return whether every version of a resource has the status subresource, for those asked about.

    Manifests are large and parsing them is slow, so only those that mention such a resource are parsed; one that does
    not parse says nothing.
    """
    found: dict[str, bool] = {}
    words = [name.encode() for name in asked if name]
    for content in manifests.values():
        if not any(word in content.lower() for word in words):
            continue
        try:
            documents = list(yaml.load_all(content.decode("utf-8", "replace"), _LOADER))
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        for document in documents:
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                _definition(document.get("spec"), found)
    return found


def _definition(spec: Any, found: dict[str, bool]) -> None:
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    versions = [each for each in spec.get("versions") or [] if isinstance(each, dict)]
    has = [isinstance(each.get("subresources"), dict) and "status" in each["subresources"] for each in versions]
    if isinstance(names, dict) and has:
        for name in (names.get("kind"), names.get("plural"), names.get("singular")):
            if isinstance(name, str):
                found[resource_key(name)] = all(has)
