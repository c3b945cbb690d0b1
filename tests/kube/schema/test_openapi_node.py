"""Schema nodes that can be relied on."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.schema.openapi_node import clean_node

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "items", "properties", "maxLength", "enum", "not"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(JSON)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_cleaning_twice_is_cleaning_once(raw: Any) -> None:
    cleaned = clean_node(raw)
    assert clean_node(cleaned) == cleaned


def test_what_fits_is_kept() -> None:
    node = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "maxLength": 3, "enum": ["x", None]}},
        "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": False}],
        "additionalProperties": True,
    }
    assert clean_node(node) == node
