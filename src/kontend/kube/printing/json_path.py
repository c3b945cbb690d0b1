"""The JSONPath that printer columns use: ``.status.conditions[?(@.type=="Ready")].status``.

Supported are fields (``.a``, ``['a']``, ``\\.`` for a dot in a name), indexes and slices, ``*``, ``..`` and filters
that compare a path with a literal or ask whether it is there. That is all a column definition may use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kontend.kube.golang.strconv import whole_number

_NAME: Final = re.compile(r"(?:\\.|[^\s.\[\]\\(){}'\"?@,:=!<>])+")
_QUOTED: Final = re.compile(r"\['((?:\\.|[^'\\])*)'\]|\[\"((?:\\.|[^\"\\])*)\"\]")
_SLICE: Final = re.compile(r"\[(-?[0-9]*)(?:(:)(-?[0-9]*))?(?:(:)(-?[0-9]*))?\]")
_FILTER: Final = re.compile(r"\[\?\((.*?)\)\]", re.DOTALL)
_COMPARISON: Final = re.compile(r"(.+?)(==|!=|<=|>=|<|>)(.+)", re.DOTALL)
#: Longer whole numbers are read as floats.
_LONGEST_NUMBER: Final = 20


class BadPath(ValueError):
    """A path that cannot be read."""


class Step(NamedTuple):
    """One move from some values to others."""

    take: Callable[[Any], Iterable[Any]]
    everywhere: bool = False


def find(path: str, value: Any) -> list[Any]:
    """All that a path leads to; nothing where something on the way is missing.

    >>> find('.a[?(@.k=="x")].v', {"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]})
    [1]
    >>> find(".a.b[-1]", {"a": {"b": [1, 2]}}), find(".a.c", {"a": {}})
    ([2], [])
    """
    values = [value]
    for step in parse(path):
        if step.everywhere:
            values = [descendant for start in values for descendant in _descendants(start)]
        values = [result for start in values for result in step.take(start)]
    return values


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[Step, ...]:
    """The steps of a path; :class:`BadPath` when it is none."""
    steps: list[Step] = []
    at = 1 if path.startswith(("$", "@")) else 0
    everywhere = False
    while at < len(path):
        if path.startswith("..", at):
            everywhere, at = True, at + 2
        elif path[at] == ".":
            at += 1
        elif path[at] != "[" and at > 0:
            raise BadPath(f"unrecognized character {path[at]!r} at {at} in {path!r}")
        if at < len(path):
            step, at = _step(path, at)
            steps.append(Step(step, everywhere))
            everywhere = False
    return tuple(steps)


def _step(path: str, at: int) -> tuple[Callable[[Any], Iterable[Any]], int]:
    if path.startswith("[*]", at):
        return _values, at + 3
    if path[at] == "*":
        return _values, at + 1
    if quoted := _QUOTED.match(path, at):
        return _field(re.sub(r"\\(.)", r"\1", quoted[1] if quoted[1] is not None else quoted[2])), quoted.end()
    if chosen := _FILTER.match(path, at):
        return _filter(chosen[1]), chosen.end()
    if numbers := _SLICE.match(path, at):
        return _items(numbers), numbers.end()
    if name := _NAME.match(path, at):
        return _field(re.sub(r"\\(.)", r"\1", name[0])), name.end()
    raise BadPath(f"unrecognized character {path[at]!r} at {at} in {path!r}")


def _values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else ()


def _field(name: str) -> Callable[[Any], Iterable[Any]]:
    def take(value: Any) -> Iterable[Any]:
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return take


def _items(match: re.Match[str]) -> Callable[[Any], Iterable[Any]]:
    first, colon, last, _, step = match.groups()
    if not first and not colon:
        raise BadPath(f"an index is missing in {match[0]!r}")

    def take(value: Any) -> Iterable[Any]:
        if not isinstance(value, list):
            return ()
        if not colon:
            index = whole_number(first)
            return (value[index],) if -len(value) <= index < len(value) else ()
        stride = whole_number(step) if step and whole_number(step) > 0 else 1
        return value[whole_number(first) if first else None : whole_number(last) if last else None : stride]

    return take


def _filter(text: str) -> Callable[[Any], Iterable[Any]]:
    match = _COMPARISON.match(text)
    if match is None:
        wanted = parse(text.strip())
        return lambda value: [child for child in _values(value) if _walk(wanted, child)]
    left, operator, right = _operand(match[1].strip()), match[2], _operand(match[3].strip())

    def take(value: Any) -> Iterable[Any]:
        return [child for child in _values(value) if _holds(left(child), operator, right(child))]

    return take


def _walk(steps: tuple[Step, ...], value: Any) -> list[Any]:
    values = [value]
    for step in steps:
        values = [result for start in values for result in step.take(start)]
    return values


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text.startswith("@"):
        steps = parse(text)
        return lambda value: _walk(steps, value)
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return lambda _: [text[1:-1]]
    if text in ("true", "false"):
        return lambda _: [text == "true"]
    try:
        number = float(text) if "." in text or len(text) > _LONGEST_NUMBER else int(text)
    except ValueError:
        raise BadPath(f"cannot compare with {text!r}") from None
    return lambda _: [number]


def _holds(left: list[Any], operator: str, right: list[Any]) -> bool:
    if len(left) != 1 or len(right) != 1:
        return False
    one, other = left[0], right[0]
    if operator == "==":
        return type(one) is type(other) and bool(one == other)
    if operator == "!=":
        return type(one) is not type(other) or bool(one != other)
    if isinstance(one, str) != isinstance(other, str) or isinstance(one, (dict, list, type(None))):
        return False
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator])


def _descendants(value: Any) -> Iterable[Any]:
    yield value
    for child in _values(value):
        yield from _descendants(child)
