"""Mistakes in IP addresses, as Go's package ``net/netip`` names them."""

from __future__ import annotations

import re
from typing import Final

from kontend.kube.field_errors import go_quote

_HEX: Final = re.compile(r"[0-9a-fA-F]*")
_FIELDS: Final = 8


def address_complaint(text: str) -> str:
    """Return the mistake in a text that is no address; nothing if it is one.

    >>> address_complaint("1.2.3"), address_complaint("1:2:x")
    ('IPv4 address too short', 'each colon-separated field must have at least one digit (at "x")')
    """
    for char in text:
        if char == ".":
            return _version_4(text)
        if char == ":":
            return _version_6(text)
        if char == "%":
            return "missing IPv6 address"
    return "unable to parse IP"


def _at(message: str, rest: str) -> str:
    return f"{message} (at {go_quote(rest)})" if rest else message


def _version_4(text: str) -> str:
    value = digits = dots = 0
    for index, char in enumerate(text):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                return "IPv4 field has octet with leading zero"
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                return "IPv4 field has value >255"
        elif char == ".":
            if index in (0, len(text) - 1) or text[index - 1] == ".":
                return _at("IPv4 field must have at least one digit", text[index:])
            if dots == 3:
                return "IPv4 address too long"
            value, digits, dots = 0, 0, dots + 1
        else:
            return _at("unexpected character", text[index:])
    return "IPv4 address too short" if dots < 3 else ""


def _version_6(text: str) -> str:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string"
    expands = rest.startswith("::")
    rest = rest[2:] if expands else rest
    if not rest:
        return ""
    fields = 0
    while fields < _FIELDS:
        match = _HEX.match(rest)
        assert match is not None  # it may be empty
        length = match.end()
        if length > 4:
            return _at("each group must have 4 or less digits", rest)
        if not length:
            return _at("each colon-separated field must have at least one digit", rest)
        if rest[length : length + 1] == ".":
            if not expands and fields != _FIELDS - 2:
                return _at("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if fields + 2 > _FIELDS:
                return _at("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            problem = _version_4(rest)
            if problem:
                return problem
            rest, fields = "", fields + 2
            break
        fields, rest = fields + 1, rest[length:]
        if not rest:
            break
        if rest[0] != ":":
            return _at("unexpected character, want colon", rest)
        if len(rest) == 1:
            return _at("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if expands:
                return _at("multiple :: in address", rest)
            expands, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return _at("trailing garbage after address", rest)
    if fields < _FIELDS:
        return "" if expands else "address string too short"
    return "the :: must expand to at least one field of zeros" if expands else ""
