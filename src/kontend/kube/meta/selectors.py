"""Label selectors, by which lists, watches and controllers choose objects.

A selector is written as text in requests (``env in (prod, dev),!canary``) and as JSON inside objects (``matchLabels``
and ``matchExpressions``). Both become a :class:`LabelSelector`: a few requirements, sorted by key, all of which must
hold. Error messages are those of the server's parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import FieldError, aggregate, go_quote, invalid
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.name_rules import label_value, qualified_name

IN: Final = "in"
NOT_IN: Final = "notin"
EQUALS: Final = "="
DOUBLE_EQUALS: Final = "=="
NOT_EQUALS: Final = "!="
GREATER: Final = "gt"
LESS: Final = "lt"
EXISTS: Final = "exists"
ABSENT: Final = "!"

_BINARY: Final = (IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS)
_OPERATORS: Final = {operator: operator for operator in _BINARY[:5]} | {">": GREATER, "<": LESS}
_SIGNS: Final = {GREATER: ">", LESS: "<"}
_JSON_OPERATORS: Final = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": ABSENT}
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+\0?)")
_SPECIAL: Final = frozenset("=!(),<>") | {"==", "!="}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_NOWHERE: Final = "<nil>"
_END: Final = ""


class BadSelector(BadRequest):
    """A selector that cannot be understood."""


class Requirement(NamedTuple):
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether an object with these labels meets the condition."""
        operator = self.operator
        if operator == EXISTS:
            return self.key in labels
        if operator == ABSENT:
            return self.key not in labels
        value = labels.get(self.key)
        if operator in (IN, EQUALS, DOUBLE_EQUALS):
            return value is not None and value in self.values
        if operator in (NOT_IN, NOT_EQUALS):
            return value is None or value not in self.values
        number = _int64(value)
        bound = _int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator == GREATER else number < bound

    def __str__(self) -> str:
        if self.operator == EXISTS:
            return self.key
        if self.operator == ABSENT:
            return f"!{self.key}"
        listed = ",".join(sorted(self.values))
        if self.operator in (IN, NOT_IN):
            return f"{self.key} {self.operator} ({listed})"
        return f"{self.key}{_SIGNS.get(self.operator, self.operator)}{listed}"


class LabelSelector(NamedTuple):
    """Requirements that must all hold, in the order of their keys; ``nothing`` stands for one that never does."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether an object with these labels is selected.

        >>> parse_selector("env in (prod, dev), !canary").matches({"env": "dev"})
        True
        """
        if self.nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - a plain loop is half the time of all()
            if not requirement.matches(labels):
                return False
        return True

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


def _int64(text: str | None) -> int | None:
    if text is None or not _INTEGER.match(text):
        return None
    number = whole_number(text)
    return number if -(2**63) <= number < 2**63 else None


def _selector(requirements: Iterable[Requirement]) -> LabelSelector:
    return LabelSelector(tuple(sorted(requirements, key=lambda condition: condition.key)))


@lru_cache(maxsize=4096)
def parse_selector(text: str) -> LabelSelector:
    """Return the selector that ``text`` writes.

    >>> str(parse_selector(" b notin (y, x) , a==1,!c "))
    'a==1,b notin (x,y),!c'
    >>> parse_selector("a===1")
    Traceback (most recent call last):
    kontend.kube.meta.selectors.BadSelector: unable to parse requirement: found '=', expected: identifier
    """
    return _selector(_Parser(text).requirements())


def selector_from_json(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Return the selector that a ``LabelSelector`` object means: none selects nothing, an empty one everything.

    >>> str(selector_from_json({"matchExpressions": [{"key": "b", "operator": "Exists"}], "matchLabels": {"a": "1"}}))
    'a=1,b'
    """
    if selector is None:
        return NOTHING
    requirements = [_requirement(key, EQUALS, (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _JSON_OPERATORS.get(expression.get("operator") or "")
        if operator is None:
            raise BadSelector(
                f"{go_quote(str(expression.get('operator') or ''))} is not a valid label selector operator"
            )
        requirements.append(_requirement(expression.get("key") or "", operator, tuple(expression.get("values") or ())))
    return _selector(requirements)


def selector_from_labels(labels: Mapping[str, str] | None) -> LabelSelector:
    """Return the selector that asks for each of these labels."""
    return _selector(Requirement(key, EQUALS, (value,)) for key, value in (labels or {}).items())


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """Return a requirement that obeys the rules; the errors of one that does not are reported together."""
    errors: list[FieldError] = []
    problems = qualified_name(key)
    if problems:
        errors.append(invalid("key", key, "; ".join(problems)))
    listed: Sequence[str] | None = list(values)
    if operator in (IN, NOT_IN):
        if not values:
            errors.append(invalid("values", listed, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in (EXISTS, ABSENT):
        if values:
            errors.append(invalid("values", listed, "values set must be empty for exists and does not exist"))
    elif operator in (GREATER, LESS) and _int64(values[0]) is None:
        errors.append(invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
    for index, value in enumerate(values):
        problems = label_value(value)
        if problems:
            errors.append(invalid(f"values[{index}][{key}]", value, "; ".join(problems)))
    if errors:
        raise BadSelector(aggregate(errors))
    return Requirement(key, operator, values)


class _Parser:
    """Reads tokens one after the other, in the order and with the messages of the server's parser."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while match := _TOKEN.match(text, at):
            self.tokens.append(match[1].rstrip("\0"))
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else _END

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    @staticmethod
    def is_word(token: str) -> bool:
        return token != _END and token not in _SPECIAL

    def requirements(self) -> list[Requirement]:
        parsed: list[Requirement] = []
        while True:
            token = self.peek()
            if token == _END:
                return parsed
            if not (self.is_word(token) or token == "!"):
                raise BadSelector(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                parsed.append(self.requirement())
            except BadSelector as error:
                raise BadSelector(f"unable to parse requirement: {error.message}") from None
            token = self.take()
            if token == _END:
                return parsed
            if token != ",":
                raise BadSelector(f"found '{token}', expected: ',' or 'end of string'")
            token = self.peek()
            if not (self.is_word(token) or token == "!"):
                raise BadSelector(f"found '{token}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        key = self.take()
        absent = key == "!"
        if absent:
            key = self.take()
        if not self.is_word(key):
            raise BadSelector(f"found '{key}', expected: identifier")
        problems = qualified_name(key)
        if problems:
            raise BadSelector(str(invalid(_NOWHERE, key, "; ".join(problems))))
        if absent:
            return _requirement(key, ABSENT, ())
        if self.peek() in (_END, ","):
            return _requirement(key, EXISTS, ())
        token = self.take()
        operator = _OPERATORS.get(token)
        if operator is None:
            raise BadSelector(f"found '{token}', expected: {', '.join(_BINARY)}")
        values = self.values() if operator in (IN, NOT_IN) else self.exact_value()
        return _requirement(key, operator, tuple(sorted(values)))

    def exact_value(self) -> set[str]:
        if self.peek() in (_END, ","):
            return {""}
        token = self.take()
        if not self.is_word(token):
            raise BadSelector(f"found '{token}', expected: identifier")
        return {token}

    def values(self) -> set[str]:
        token = self.take()
        if token != "(":
            raise BadSelector(f"found '{token}' expected: '('")
        token = self.peek()
        if token == ")":
            self.take()
            return {""}
        if not (self.is_word(token) or token == ","):
            raise BadSelector(f"found '{token}', expected: ',', ')' or identifier")
        parsed: set[str] = set()
        while True:
            token = self.take()
            following = self.peek()
            if self.is_word(token):
                parsed.add(token)
                if following not in (",", ")"):
                    raise BadSelector(f"found '{following}', expected: ',' or ')'")
            elif token == ",":
                # Nothing between commas, or between a comma and a parenthesis, is the empty value.
                if not parsed or following in (",", ")"):
                    parsed.add("")
            else:
                raise BadSelector(f"found '{token}', expected: ',', or identifier")
            if following == ")":
                self.take()
                return parsed
