"""Checks of constants that would fail in every run: durations, times, patterns, and lists of mixed types."""

from __future__ import annotations

from collections.abc import Iterable

from kontend.kube.cel import types
from kontend.kube.cel.ast import Call, ListLiteral, Literal, MapLiteral, Node
from kontend.kube.cel.issues import Issues
from kontend.kube.cel.types import Type
from kontend.kube.go_regexp import RegexpError, compile_regexp
from kontend.kube.go_time import parse_duration, parse_time


def check_literals(nodes: Iterable[Node], issues: Issues) -> None:
    """Note every constant that cannot be what it is used for."""
    for node in nodes:
        if isinstance(node, Call) and node.args and isinstance(node.args[0], Literal):
            literal = node.args[0]
            if isinstance(literal.value, str) and not _fits(node.function, literal.value):
                issues.add(literal.at, f"invalid {node.function} argument")
        elif isinstance(node, ListLiteral):
            found: Type | None = None
            for index, element in enumerate(node.elements):
                kind = types.unwrap_optional(element.type)[0] if index in node.optional else element.type
                if found is not None and not _equivalent(found, kind):
                    _mismatch(issues, element, found, kind)
                    break
                found = found or kind
        elif isinstance(node, MapLiteral):
            _check_map(node, issues)


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


def _mismatch(issues: Issues, node: Node, wanted: Type, found: Type) -> None:
    issues.add(node.at, f"expected type '{wanted}' but found '{found}'")


def _equivalent(left: Type, right: Type) -> bool:
    if left.kind != right.kind or left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(_equivalent(a, b) for a, b in zip(left.params, right.params, strict=True))


def _fits(function: str, text: str) -> bool:
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
