"""PEM blocks as Go finds them in a text: whatever stands around them is skipped."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_BLOCK: Final = re.compile(
    rb"(?:^|(?<=\n))-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)(?:(?<=\n)|(?<=-----\n))-----END \1-----[ \t\r]*(?:\n|$)",
    re.DOTALL,
)
_HEADER: Final = re.compile(rb"([^\n:]+):([^\n]*)\n")


class PemBlock(NamedTuple):
    """A block: its type, its headers and its bytes."""

    type: str
    headers: Mapping[str, str]
    body: bytes


def decode_pem(data: bytes) -> list[PemBlock]:
    """All blocks of a text; one whose body is not base64 is skipped.

    >>> decode_pem(b"x\\n-----BEGIN A-----\\naGVsbG8=\\n-----END A-----\\n")
    [PemBlock(type='A', headers={}, body=b'hello')]
    """
    blocks = []
    for match in _BLOCK.finditer(data):
        rest = match[2]
        headers: dict[str, str] = {}
        while (header := _HEADER.match(rest)) is not None:
            headers[header[1].decode("utf-8", "replace").strip()] = header[2].decode("utf-8", "replace").strip()
            rest = rest[header.end() :]
        try:
            body = binascii.a2b_base64(re.sub(rb"\s", b"", rest), strict_mode=bool(rest.strip()))
        except binascii.Error:
            continue
        blocks.append(PemBlock(match[1].decode("utf-8", "replace"), headers, body))
    return blocks
