"""Old values and new ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from kontend.kube.schema.old_values import same_json, unchanged
from kube.custom_objects import VALUES

ANY: dict[str, Any] = {}
MAP_LIST = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {}, "v": {}}},
}


def test_numbers_and_truth_values_are_told_apart() -> None:
    assert not same_json(1, True)
    assert not same_json(1, 1.0)
    assert not same_json({"a": [0]}, {"a": [False]})


@given(VALUES)
@settings(derandomize=True, deadline=None, max_examples=50)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert same_json(value, value)


def test_a_map_list_may_be_reordered() -> None:
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert unchanged(old[::-1], old, MAP_LIST)
    assert not unchanged([{"k": "a", "v": 1}, {"k": "b", "v": 3}], old, MAP_LIST)


def test_other_lists_may_not() -> None:
    assert not unchanged([1, 2], [2, 1], {"type": "array"})


def test_a_field_without_a_schema_is_never_unchanged() -> None:
    assert not unchanged({"a": 1}, {"a": 1}, {"type": "object"})
