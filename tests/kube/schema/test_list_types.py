"""Lists of type set and map."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError
from kontend.kube.schema.list_types import compile_list_types
from kontend.kube.schema.structural import structural_node

SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}


def keyed(*keys: str) -> dict[str, Any]:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": {"type": "object"},
    }


def errors(node: dict[str, Any], value: Any) -> list[str]:
    check = compile_list_types(structural_node(node))
    assert check is not None
    errors: list[FieldError] = []
    check(value, None, errors)
    return [str(error) for error in errors]


def test_a_schema_without_such_lists_needs_no_check() -> None:
    assert compile_list_types(structural_node({"type": "array", "items": {"type": "string"}})) is None


def test_the_second_of_equal_values_is_told_and_the_third_is_not() -> None:
    assert errors(SET, ["a", "b", "a", "a"]) == ['[2]: Duplicate value: "a"']


def test_values_of_different_types_are_different() -> None:
    assert errors(SET, [1, True, 1.0, "1"]) == []


def test_items_are_identified_by_their_keys() -> None:
    assert errors(keyed("a"), [{"a": 1, "x": 1}, {"a": 1, "x": 2}]) == ['[1]: Duplicate value: {"a":1}']
    assert errors(keyed("a", "b"), [{"a": 1}, {"a": 1, "b": 2}, {"a": 1}]) == ['[2]: Duplicate value: {"a":1}']
    assert errors(keyed("a"), [{}, {}]) == ["[1]: Duplicate value: {}"]


def test_only_objects_have_keys() -> None:
    assert errors(keyed("a"), ["x"]) == ['[0]: Invalid value: "x": must be an object for an array of list-type map']


def test_lists_are_found_wherever_they_are() -> None:
    node = {"type": "object", "additionalProperties": {"type": "object", "properties": {"tags": SET}}}
    assert errors(node, {"k": {"tags": ["a", "a"]}}) == ['[k].tags[1]: Duplicate value: "a"']
