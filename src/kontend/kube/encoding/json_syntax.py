"""JSON read the way Go reads it, for the cases in which a fast parser is not enough.

A fast parser answers almost every request. This slow one answers the rest: it finds the message that Go's scanner has
for a malformed text, the paths of duplicate keys, and the source text of numbers and strings, and it accepts what Go
accepts and others refuse (bytes that are not UTF-8 and halves of surrogate pairs both become U+FFFD).
"""

from __future__ import annotations

import re
from typing import Any, Final

from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import go_quote

#: Go stops at 10,000 levels; walking an object that deep is beyond Python's stack, and beyond any real object.
MAX_DEPTH: Final = 250
MAX_DUPLICATES: Final = 100

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_HEX: Final = b"0123456789abcdefABCDEF"
_ESCAPES: Final = {ord(k): v for k, v in zip('bfnrt\\/"', '\b\f\n\r\t\\/"', strict=True)}
_LITERALS: Final = {ord("t"): (b"true", True), ord("f"): (b"false", False), ord("n"): (b"null", None)}
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


class MalformedYAML(BadRequest):
    """A text that is not YAML, or YAML that cannot become JSON; the message is the server's."""


class MalformedJSON(BadRequest):
    """A text that is not JSON; the message is the one Go's decoder has for it."""


def read(raw: bytes, *, literals: bool = False) -> tuple[Any, list[str]]:
    """Return the value that ``raw`` stands for and the paths of the keys that it holds twice.

    With ``literals``, every scalar but ``null`` is left as its source text (bytes).

    >>> read(b'{"spec":{"size":1,"size":2}}')
    ({'spec': {'size': 2}}, ['spec.size'])
    >>> read(b'[1.50, "a"]', literals=True)[0]
    [b'1.50', b'"a"']
    """
    reader = _Reader(raw, literals)
    value, end = reader.value(0, None, 0)
    end = reader.skip_space(end)
    if end < len(raw):
        raise reader.unexpected(end, "after top-level value")
    return value, reader.duplicates


#: The way to a value, innermost last: built as text only for the few that are named in a message.
_Path = tuple[Any, str | int] | None


def _text_of(path: _Path) -> str:
    parts: list[str] = []
    while path is not None:
        outer, part = path
        parts.append(f"[{part}]" if isinstance(part, int) else f".{part}" if outer is not None else part)
        path = outer
    return "".join(reversed(parts))


class _Reader:
    def __init__(self, raw: bytes, literals: bool) -> None:
        # Go ends its input with an imaginary space, and some of its messages complain about that space.
        self.data = raw + b" "
        self.literals = literals
        self.duplicates: list[str] = []

    def unexpected(self, at: int, context: str) -> MalformedJSON:
        char = chr(self.data[at])
        quoted = {"'": "\\'", '"': '"'}.get(char) or go_quote(char)[1:-1]
        return MalformedJSON(f"invalid character '{quoted}' {context}")

    def skip_space(self, at: int) -> int:
        match = _SPACE.match(self.data, at)
        return match.end() if match else at

    def start(self, at: int) -> int:
        at = self.skip_space(at)
        if at >= len(self.data):
            raise MalformedJSON("unexpected end of JSON input")
        return at

    def value(self, at: int, path: _Path, depth: int) -> tuple[Any, int]:
        at = self.start(at)
        byte = self.data[at]
        if byte == 0x7B or byte == 0x5B:
            if depth >= MAX_DEPTH:
                raise self.unexpected(at, "exceeded max depth")
            return self.object(at + 1, path, depth + 1) if byte == 0x7B else self.array(at + 1, path, depth + 1)
        if byte == 0x22:
            text, end = self.string(at)
            return (self.data[at:end] if self.literals else text), end
        if byte == 0x2D or 0x30 <= byte <= 0x39:
            return self.number(at)
        if byte in _LITERALS:
            word, value = _LITERALS[byte]
            for offset, expected in enumerate(word):
                if self.data[at + offset] != expected:
                    context = f"in literal {word.decode()} (expecting '{chr(expected)}')"
                    raise self.unexpected(at + offset, context)
            return (word if self.literals and value is not None else value), at + len(word)
        raise self.unexpected(at, "looking for beginning of value")

    def object(self, at: int, path: _Path, depth: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        at = self.start(at)
        if self.data[at] == 0x7D:
            return members, at + 1
        while True:
            at = self.start(at)
            if self.data[at] != 0x22:
                raise self.unexpected(at, "looking for beginning of object key string")
            key, at = self.string(at)
            at = self.start(at)
            if self.data[at] != 0x3A:
                raise self.unexpected(at, "after object key")
            below = (path, key)
            if key in members and len(self.duplicates) < MAX_DUPLICATES:
                place = _text_of(below)
                if place not in self.duplicates:
                    self.duplicates.append(place)
            members[key], at = self.value(at + 1, below, depth)
            at = self.start(at)
            if self.data[at] == 0x7D:
                return members, at + 1
            if self.data[at] != 0x2C:
                raise self.unexpected(at, "after object key:value pair")
            at += 1

    def array(self, at: int, path: _Path, depth: int) -> tuple[list[Any], int]:
        elements: list[Any] = []
        at = self.start(at)
        if self.data[at] == 0x5D:
            return elements, at + 1
        while True:
            item, at = self.value(at, (path, len(elements)), depth)
            elements.append(item)
            at = self.start(at)
            if self.data[at] == 0x5D:
                return elements, at + 1
            if self.data[at] != 0x2C:
                raise self.unexpected(at, "after array element")
            at += 1

    def string(self, at: int) -> tuple[str, int]:
        parts: list[str] = []
        at += 1
        while True:
            match = _PLAIN.match(self.data, at)
            end = match.end() if match else at
            if end > at:
                parts.append(_NOT_UTF8.sub("\ufffd", self.data[at:end].decode("utf-8", "surrogateescape")))
            if end >= len(self.data):
                raise MalformedJSON("unexpected end of JSON input")
            byte = self.data[end]
            if byte == 0x22:
                text = "".join(parts)
                if _HALF_PAIR.search(text):
                    # Joining through UTF-16 makes pairs whole; what stays alone is replaced.
                    text = _HALF_PAIR.sub(
                        "\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
                    )
                return text, end + 1
            if byte != 0x5C:
                raise self.unexpected(end, "in string literal")
            escape = self.data[end + 1] if end + 1 < len(self.data) else 0x20
            if escape == 0x75:
                for offset in range(end + 2, end + 6):
                    if offset >= len(self.data):
                        raise MalformedJSON("unexpected end of JSON input")
                    if self.data[offset] not in _HEX:
                        raise self.unexpected(offset, "in \\u hexadecimal character escape")
                parts.append(chr(int(self.data[end + 2 : end + 6], 16)))
                at = end + 6
            elif escape in _ESCAPES:
                parts.append(_ESCAPES[escape])
                at = end + 2
            else:
                raise self.unexpected(end + 1, "in string escape code")

    def number(self, at: int) -> tuple[Any, int]:
        match = _NUMBER.match(self.data, at)
        if match is None:
            raise self.unexpected(at + 1, "in numeric literal")
        end = match.end()
        following = self.data[end : end + 1]
        if match[2] is None:
            if following == b"." and match[1] is None:
                raise self.unexpected(end + 1, "after decimal point in numeric literal")
            if following in (b"e", b"E"):
                sign = self.data[end + 1] in b"+-"
                raise self.unexpected(end + 2 if sign else end + 1, "in exponent of numeric literal")
        if self.literals:
            return match[0], end
        if match[1] is None and match[2] is None and len(match[0]) < 25:
            whole = int(match[0])
            if -(2**63) <= whole < 2**63:
                return whole, end
        number = float(match[0])
        if number in (float("inf"), float("-inf")):
            text = match[0].decode()
            raise MalformedJSON(f"json: cannot unmarshal number {text} into Go value of type float64")
        return number, end


def go_kind(value: Any) -> str:
    """Return the name that Go's decoder has for the type of a value.

    >>> go_kind(True), go_kind(1), go_kind("x"), go_kind([]), go_kind({}), go_kind(None)
    ('bool', 'number', 'string', 'array', 'object', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"
