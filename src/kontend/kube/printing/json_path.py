"""The JSONPath of client-go, which printer columns use: ``.status.conditions[?(@.type=="Ready")].status``.

Its grammar is its own: ``[]`` is the first item, ``['a.b']`` are two fields unless the dot is escaped, and a filter
compares values of one type only. A text is read into nodes, each of which takes some values to others. An evaluation
that fails has no results at all, but a filter that asks whether a path exists takes the values at which it failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from kontend.kube.golang.strconv import whole_number

#: Takes the values at one node to those at the next.
Node: TypeAlias = Callable[[list[Any]], list[Any]]

_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_FIELD: Final = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}])*\\?", re.DOTALL)
_IDENTIFIER: Final = re.compile(r"[^ \t\r\n.,\[\]$@{}]+")
#: Longer whole numbers do not fit into Go's int.
_LONGEST_NUMBER: Final = 19


class BadPath(ValueError):
    """A path that cannot be read; the message is client-go's."""


class _Failure(Exception):
    """An evaluation that failed, with the values at which it did."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


def find(path: str, value: Any) -> list[Any]:
    """All that a path leads to; nothing where something on the way is missing or of another type.

    >>> find('.a[?(@.k=="x")].v', {"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]})
    [1]
    >>> find(".a.b[-1]", {"a": {"b": [1, 2]}}), find(".a.b[]", {"a": {"b": [1, 2]}}), find(".a.c", {"a": {}})
    ([2], [1], [])
    """
    try:
        return _walk(parse(path), [value])
    except (_Failure, RecursionError):
        return []


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[Node, ...]:
    """Return the nodes of a path; :class:`BadPath` when it is none."""
    nodes: list[Node] = []
    at = 0
    while at < len(path):
        if path.startswith("[?(", at):
            node, at = _filter(path, at + 3)
            nodes.append(node)
        elif path.startswith("..", at):
            if nodes and nodes[-1] is _everything:
                raise BadPath("invalid multiple recursive descent")
            nodes.append(_everything)
            at += 2
            if at < len(path) and (path[at] == "_" or path[at].isalnum()):
                node, at = _field(path, at)
                nodes.append(node)
        else:
            added, at = _node(path, at)
            nodes += added
    return tuple(nodes)


def _node(path: str, at: int) -> tuple[Iterable[Node], int]:
    char = path[at]
    if char in " @$":
        return (), at + 1
    if char == "[":
        return _brackets(path, at)
    if char in "\"'":
        end = _end_of_quote(path, at)
        return (_literal(re.sub(r"\\(.)", r"\1", path[at + 1 : end])),), end + 1
    if char == ".":
        node, at = _field(path, at + 1)
        return (node,), at
    if char in "+-" or char.isdigit():
        return _number(path, at)
    if char == "_" or char.isalpha():
        match = _IDENTIFIER.match(path, at)
        assert match is not None  # it begins with a letter
        return (_identifier(match[0]),), match.end()
    if char in "\r\n":
        raise BadPath("unclosed action")
    raise BadPath(f"unrecognized character in action: U+{ord(char):04X} '{char}'")


def _field(path: str, at: int) -> tuple[Node, int]:
    match = _FIELD.match(path, at)
    assert match is not None  # it may be empty
    name = match[0].replace("\\", "")
    if match[0] == "*":
        return lambda values: [child for value in values for child in _children(value)], match.end()
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value], match.end()


def _identifier(name: str) -> Node:
    if name in ("true", "false"):
        return _literal(name == "true")

    def fail(values: list[Any]) -> list[Any]:
        raise _Failure(values)

    return fail


def _literal(literal: Any) -> Node:
    return lambda values: [literal] * len(values)


def _number(path: str, at: int) -> tuple[Iterable[Node], int]:
    match = _NUMBER.match(path, at)
    assert match is not None  # it may be empty
    text = match[0]
    try:
        number = int(text) if "." not in text and len(text) <= _LONGEST_NUMBER else float(text)
    except ValueError:
        raise BadPath(f"cannot parse number {text}") from None
    return (_literal(number),), match.end()


def _end_of_quote(path: str, at: int) -> int:
    end = at
    while True:
        end = path.find(path[at], end + 1)
        if end < 0 or "\n" in path[at:end]:
            raise BadPath("unterminated quoted string")
        if path[end - 1] != "\\":
            return end


def _brackets(path: str, at: int) -> tuple[Iterable[Node], int]:
    end = path.find("]", at)
    if end < 0 or "\n" in path[at:end]:
        raise BadPath("unterminated array")
    text = path[at + 1 : end]
    parts = text.split(",")
    if len(parts) > 1:
        union = [parse(f"[{part.strip(' ')}]") for part in parts]
        return (lambda values: [result for nodes in union for result in _walk(nodes, values)],), end + 1
    if key := _KEY.fullmatch(text):
        return parse(f".{key[1]}"), end + 1
    match = _SLICE.fullmatch(":" if text == "*" else text)
    if match is None:
        raise BadPath(f"invalid array index {text}")
    return (_items(*match.groups()),), end + 1


def _items(first: str, last: str | None, step: str | None) -> Node:
    if first == "-" or last == ":-" or step == ":-":
        raise BadPath("array index - is not a number")
    begin = whole_number(first) if first else 0
    stop = begin + 1 if last is None else whole_number(last[1:]) if last != ":" else None
    stride = whole_number(step[1:]) if step and step != ":" else 1

    def take(values: list[Any]) -> list[Any]:
        out: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise _Failure(values)
            low = begin + len(value) if begin < 0 else begin
            high = len(value) if stop is None else stop
            if high < 0 or (high == 0 and last is None):
                high += len(value)
            if low == high:
                return out
            if not (0 <= low < len(value) and low <= high <= len(value)) or stride <= 0:
                raise _Failure(values)
            out += value[low:high:stride]
        return out

    return take


def _filter(path: str, at: int) -> tuple[Node, int]:
    """Return the filter whose condition begins at ``at``, and the place after it."""
    end, quote, closed = at, "", False
    while True:
        if end >= len(path) or path[end] == "\n":
            raise BadPath("unterminated filter")
        char = path[end]
        if char in "\"'":
            if not quote:
                quote = char
            elif path[end - 1] != "\\" and char == quote:
                closed = True
        elif char == ")" and bool(quote) == closed:
            break
        end += 1
    if path[end + 1 : end + 2] != "]":
        raise BadPath("unclosed array expect ]")
    text = path[at:end]
    match = _COMPARISON.fullmatch(text)
    if match is None:
        wanted = parse(text)
        return _choosing(lambda item: _exists(wanted, item)), end + 2
    left, right, operator = parse(match[1]), parse(match[3]), match[2]
    return _choosing(lambda item: _holds(_walk(left, [item]), operator, _walk(right, [item]))), end + 2


def _choosing(condition: Callable[[Any], bool]) -> Node:
    def take(values: list[Any]) -> list[Any]:
        out = []
        for value in values:
            if not isinstance(value, list):
                raise _Failure(values)
            out += [item for item in value if condition(item)]
        return out

    return take


def _exists(nodes: tuple[Node, ...], item: Any) -> bool:
    try:
        return bool(_walk(nodes, [item]))
    except _Failure as failure:
        return bool(failure.values)


def _holds(left: list[Any], operator: str, right: list[Any]) -> bool:
    if not left or not right:
        return False
    one, other = left[0], right[0]
    kind = type(one)
    comparable = kind is type(other) and kind in (str, int, float, bool)
    if len(left) > 1 or len(right) > 1 or not comparable or operator not in _OPERATORS:
        raise _Failure([])
    if kind is bool and operator not in ("==", "!="):
        raise _Failure([])
    return _OPERATORS[operator](one, other)


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}


def _walk(nodes: Iterable[Node], values: list[Any]) -> list[Any]:
    for node in nodes:
        values = node(values)
    return values


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, str):
        return list(value.encode())
    return value if isinstance(value, list) else ()


def _everything(values: list[Any]) -> list[Any]:
    """All values with content, from the outer ones to the inner ones."""
    out: list[Any] = []
    for value in values:
        children = list(_children(value))
        if children:
            out.append(value)
            out += _everything(children)
    return out
