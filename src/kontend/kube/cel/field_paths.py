"""The ``fieldPath`` of a rule: field names, relative to the place of the rule, that must exist in its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.schema.openapi_node import additional_schema, as_mapping

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'?|[.\[\]]|[^.\[\]']+'?|.")
_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\",
}  # fmt: skip


class FieldPathError(ValueError):
    """A path that is not one, or that leads nowhere."""


def parse_field_path(text: str, node: Mapping[str, Any]) -> str:
    """Return the path as field errors spell it.

    >>> parse_field_path(".a['b']", {"properties": {"a": {"additionalProperties": {"type": "string"}}}})
    'a[b]'
    """
    return find_field(text, node)[0]


def find_field(text: str, node: Mapping[str, Any], *, brackets: bool = True) -> tuple[str, Mapping[str, Any]]:
    """Return the path as field errors spell it, and the schema it leads to; ``brackets`` allows ``['key']``."""
    tokens = iter(_TOKEN.findall(text))
    path = ""
    for token in tokens:
        if token == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _quoted(next(tokens, None))
            path, node = _step(path, node, name)
            closing = next(tokens, None)
            if closing is None:
                raise FieldPathError("unexpected end of JSON path")
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            plain = next(tokens, None)
            if plain is None:
                raise FieldPathError("unexpected end of JSON path")
            path, node = _step(path, node, plain)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return path, node


def _quoted(token: str | None) -> str:
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")

    def unescape(match: re.Match[str]) -> str:
        if match[0][1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
        return _ESCAPES[match[0][1]]

    return re.sub(r"\\.", unescape, token[1:-1])


def _step(path: str, node: Mapping[str, Any], name: str) -> tuple[str, Mapping[str, Any]]:
    properties = as_mapping(node.get("properties"))
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return f"{path}.{name}" if path else name, as_mapping(properties[name])
    additional = additional_schema(node)
    if additional is None:
        raise FieldPathError("does not refer to a valid field")
    return f"{path}[{name}]", additional
