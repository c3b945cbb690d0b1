"""Base64 as Go reads it: line ends are skipped, and an error names its position."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_URL_ALPHABET: Final = _ALPHABET - frozenset(b"+/") | frozenset(b"-_")


def decode_base64(text: str) -> bytes:
    """Return the bytes that a text stands for; raises ``ValueError`` with Go's message.

    >>> decode_base64("aGVs\\nbG8=")
    b'hello'
    >>> decode_base64("aGVsbG8")
    Traceback (most recent call last):
    ValueError: illegal base64 data at input byte 4
    """
    clean = text.replace("\r", "").replace("\n", "")
    if _BASE64.fullmatch(clean) is None:
        raise ValueError(f"illegal base64 data at input byte {_fault(text)}")
    return binascii.a2b_base64(clean)


def decode_raw_url_base64(text: str) -> bytes:
    """Return the bytes of a text in the URL alphabet without padding; raises ``ValueError`` with Go's message.

    >>> decode_raw_url_base64("aGVsbG8")
    b'hello'
    >>> decode_raw_url_base64("aGVsbG8=")
    Traceback (most recent call last):
    ValueError: illegal base64 data at input byte 7
    """
    data = text.encode("utf-8", "replace")
    allowed = _URL_ALPHABET | frozenset(b"\r\n")
    foreign = next((index for index, byte in enumerate(data) if byte not in allowed), None)
    clean = data.replace(b"\r", b"").replace(b"\n", b"")
    if foreign is None and len(clean) % 4 == 1:
        foreign = len(data) - 1
    if foreign is not None:
        raise ValueError(f"illegal base64 data at input byte {foreign}")
    return base64.urlsafe_b64decode(clean + b"=" * (-len(clean) % 4))


def _fault(text: str) -> int:
    """Return the position at which Go's decoder stops: a foreign byte or wrong padding."""
    data = text.encode("utf-8", "replace")
    count = 0
    for index, byte in enumerate(data):
        if byte in b"\r\n":
            continue
        if byte in _ALPHABET:
            count += 1
            continue
        if byte != ord("=") or count % 4 < 2:
            return index
        rest = index + 1
        if count % 4 == 2:
            while rest < len(data) and data[rest] in b"\r\n":
                rest += 1
            if rest >= len(data):
                return len(data)
            if data[rest : rest + 1] != b"=":
                return rest - 1
            rest += 1
        while rest < len(data) and data[rest] in b"\r\n":
            rest += 1
        return rest
    return len(data) - count % 4
