"""Field selectors: ``metadata.name=a,status.phase!=Running``.

The kind decides which fields can be selected; this module is only the language. A backslash before a comma, an
equals sign or another backslash makes it part of the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kontend.kube.errors import BadRequest

EQUALS: Final = "="
NOT_EQUALS: Final = "!="

_TERM: Final = re.compile(r"(?s)(.*?)(!=|==|=)(.*)")
_COMMA: Final = re.compile(r"(?s)(?:[^\\,]|\\.|\\\Z)*")


class BadFieldSelector(BadRequest):
    """A field selector that cannot be understood."""


class FieldRequirement(NamedTuple):
    """One field that must, or must not, have one value."""

    field: str
    operator: str
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Report whether an object with these fields meets the condition; a field that is not there is empty."""
        return (fields.get(self.field, "") == self.value) == (self.operator == EQUALS)

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape(self.value)}"


class FieldSelector(NamedTuple):
    """Requirements that must all hold."""

    requirements: tuple[FieldRequirement, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Report whether an object with these fields is selected.

        >>> parse_field_selector("metadata.name=a,status.phase!=Running").matches({"metadata.name": "a"})
        True
        """
        return all(requirement.matches(fields) for requirement in self.requirements)

    def exact(self, field: str) -> str | None:
        """Return the one value that a field must have, if the selector asks for one."""
        return next((it.value for it in self.requirements if it.field == field and it.operator == EQUALS), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def escape(value: str) -> str:
    """Return a value as it must be written in a selector.

    >>> escape("a,b=c")
    'a\\\\,b\\\\=c'
    """
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _unescape(value: str) -> str:
    if not any(char in value for char in "\\,="):
        return value
    out: list[str] = []
    chars = iter(value)
    for char in chars:
        if char == "\\":
            char = next(chars, "")
            if char not in ("\\", ",", "="):
                raise BadFieldSelector(f"invalid field selector: invalid escape sequence: \\{char}")
        elif char in ",=":
            raise BadFieldSelector(f"invalid field selector: unescaped character in value: {ord(char)}")
        out.append(char)
    return "".join(out)


def _terms(text: str) -> list[str]:
    terms: list[str] = []
    at = 0
    while at <= len(text):
        match = _COMMA.match(text, at)
        end = match.end() if match else len(text)
        terms.append(text[at:end])
        at = end + 1
    return sorted(terms)


@lru_cache(maxsize=4096)
def parse_field_selector(text: str) -> FieldSelector:
    """Return the selector that ``text`` writes.

    >>> str(parse_field_selector("b!=2,a==1"))
    'a=1,b!=2'
    >>> parse_field_selector("a")
    Traceback (most recent call last):
    kontend.kube.meta.field_selectors.BadFieldSelector: invalid selector: 'a'; can't understand 'a'
    """
    requirements: list[FieldRequirement] = []
    for term in _terms(text):
        if not term:
            continue
        match = _TERM.fullmatch(term)
        if match is None:
            raise BadFieldSelector(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = NOT_EQUALS if match[2] == NOT_EQUALS else EQUALS
        value = _unescape(match[3])
        # The server takes a bare operator for a selector that selects everything.
        if match[1] or value:
            requirements.append(FieldRequirement(match[1], operator, value))
    return FieldSelector(tuple(requirements))
