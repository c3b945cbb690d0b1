"""Hypothesis strategies for schemas of custom resources and for objects that may or may not fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from("abc")
SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-3, 5) | st.sampled_from([1.5, "", "a", "zz"])


def _with(values: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these keywords."""
    return st.sets(st.sampled_from(sorted(values)), max_size=3).map(lambda chosen: {key: values[key] for key in chosen})


STRING = _with(
    {"maxLength": 1, "pattern": "^a", "enum": ["a", "zz"], "default": "a", "nullable": True, "format": "date"}
)
INTEGER = _with({"minimum": 0, "maximum": 3, "default": 2, "multipleOf": 2, "nullable": True})
LEAVES = st.one_of(
    STRING.map(lambda rest: {"type": "string", **rest}),
    INTEGER.map(lambda rest: {"type": "integer", **rest}),
    st.just({"type": "boolean", "default": True}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
)


def _inner(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.builds(
        lambda items, rest: {"type": "array", "items": items, **rest}, children, _with({"maxItems": 2, "minItems": 1})
    )
    maps = children.map(lambda value: {"type": "object", "additionalProperties": value})
    fields = st.builds(
        lambda properties, rest: {"type": "object", "properties": properties, **rest},
        st.dictionaries(NAMES, children, max_size=3),
        _with({"required": ["a"], "maxProperties": 2, "default": {}, "nullable": True}),
    )
    return lists | maps | fields


NODES = st.recursive(LEAVES, _inner, max_leaves=6)
SCHEMAS = st.dictionaries(NAMES, NODES, min_size=1, max_size=3).map(
    lambda properties: {"type": "object", "properties": properties}
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=10
)


def objects() -> st.SearchStrategy[dict[str, Any]]:
    """Objects with fields that schemas above may know."""
    return st.dictionaries(NAMES, VALUES, max_size=3)
