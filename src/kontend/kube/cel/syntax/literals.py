"""Checks of constants that would fail in every run: durations, times, patterns, and lists of mixed types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kontend.kube.cel import types
from kontend.kube.cel.issues import Issues
from kontend.kube.cel.library.formatting import CLAUSES, clauses
from kontend.kube.cel.syntax.ast import Call, ListLiteral, Literal, MapLiteral, Node
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import EvalError
from kontend.kube.golang.regexp import RegexpError, compile_regexp
from kontend.kube.golang.time import parse_duration, parse_time


def check_literals(nodes: Iterable[Node], mixed: frozenset[int], issues: Issues) -> None:
    """Note every constant that cannot be what it is used for; lists and maps in ``mixed`` may mix types."""
    for node in nodes:
        if isinstance(node, Call):
            _check_call(node, issues)
        elif id(node) in mixed:
            continue
        elif isinstance(node, ListLiteral):
            common: Type | None = None
            for index, element in enumerate(node.elements):
                kind = types.unwrap_optional(element.type)[0] if index in node.optional else element.type
                if common is not None and not _equivalent(common, kind):
                    _mismatch(issues, element, common, kind)
                    break
                common = common or kind
        elif isinstance(node, MapLiteral):
            _check_map(node, issues)


def _check_call(node: Call, issues: Issues) -> None:
    first = node.args[0] if node.args else None
    if isinstance(first, Literal) and not _fits(node.function, first.value):
        issues.add(first.at, f"invalid {node.function} argument")
    template = node.target
    if node.function == "format" and isinstance(template, Literal) and isinstance(first, ListLiteral):
        _check_format(node, template.value, first.elements, issues)


def _check_format(node: Call, template: str, args: list[Node], issues: Issues) -> None:
    used = 0
    try:
        for part in clauses(template, len(args)):
            if isinstance(part, str):
                continue
            arg = args[used]
            used += 1
            allowed, complaint = CLAUSES[part[0].lower()]
            wrong = _unprintable(arg) if part[0] == "s" else None if _is(arg, allowed) else arg
            if wrong is not None:
                issues.add(wrong.at, f"error during formatting: {complaint}{wrong.type.name}")
                return
    except EvalError as error:
        issues.add(node.at, str(error))
        return
    if len(args) > used:
        expected = f"(expected {used}, got {len(args)})"
        issues.add(node.at, f"too many arguments supplied to string.format {expected}")


def _is(node: Node, kinds: frozenset[str]) -> bool:
    return node.type.kind in kinds or node.type.kind == "dyn"


def _unprintable(node: Node) -> Node | None:
    """Return the part of a value that cannot be printed as text, or nothing."""
    if not _is(node, CLAUSES["s"][0]):
        return node
    inner: list[Node] = []
    if isinstance(node, ListLiteral):
        inner = node.elements
    elif isinstance(node, MapLiteral):
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            inner += [entry.key, entry.value]
    return next((wrong for part in inner if (wrong := _unprintable(part)) is not None), None)


def _check_map(node: MapLiteral, issues: Issues) -> None:
    keys: Type | None = None
    values: Type | None = None
    for entry in node.entries:
        assert isinstance(entry.key, Node)
        value = types.unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if keys is None or values is None:
            keys, values = entry.key.type, value
            continue
        if not _equivalent(keys, entry.key.type):
            _mismatch(issues, entry.key, keys, entry.key.type)
        if not _equivalent(values, value):
            _mismatch(issues, entry.value, values, value)


def _mismatch(issues: Issues, node: Node, wanted: Type, actual: Type) -> None:
    issues.add(node.at, f"expected type '{wanted}' but found '{actual}'")


def _equivalent(left: Type, right: Type) -> bool:
    if left.kind != right.kind or left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(_equivalent(a, b) for a, b in zip(left.params, right.params, strict=True))


def _fits(function: str, text: Any) -> bool:
    if not isinstance(text, str):
        # There is no duration of a number, although the checker takes one.
        return function != "duration"
    try:
        if function == "duration":
            parse_duration(text)
        elif function == "timestamp":
            parse_time(text)
        elif function == "matches":
            compile_regexp(text)
    except (ValueError, RegexpError):
        return False
    return True
