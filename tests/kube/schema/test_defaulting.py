"""Defaulting."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings

from kontend.kube.openapi.validation import validate
from kontend.kube.schema.defaulting import apply_defaults, fill_defaults
from kontend.kube.schema.pruning import prune
from kontend.kube.schema.structural import structural_schema
from kube.custom_objects import SCHEMAS, objects

ONE = {"type": "integer", "default": 1}


def defaulted(obj: dict[str, Any], **properties: Any) -> dict[str, Any]:
    apply_defaults(obj, structural_schema({"type": "object", "properties": properties}))
    return obj


def test_missing_fields_get_their_default() -> None:
    assert defaulted({}, a=ONE) == {"a": 1}


def test_a_null_that_is_not_allowed_counts_as_missing() -> None:
    assert defaulted({"a": None}, a=ONE) == {"a": 1}
    assert defaulted({"a": None}, a={"type": "integer"}) == {}


def test_a_null_that_is_allowed_stays() -> None:
    assert defaulted({"a": None}, a={**ONE, "nullable": True}) == {"a": None}


def test_nulls_in_lists_stay_unless_items_have_a_default() -> None:
    plain = {"type": "array", "items": {"type": "integer"}}
    assert defaulted({"a": [None]}, a=plain) == {"a": [None]}
    assert defaulted({"a": [None]}, a={"type": "array", "items": ONE}) == {"a": [1]}


def test_nothing_is_made_up_around_a_default() -> None:
    assert defaulted({}, a={"type": "object", "properties": {"b": ONE}}) == {}


def test_a_default_is_completed_by_the_defaults_inside_it() -> None:
    assert defaulted({}, a={"type": "object", "default": {}, "properties": {"b": ONE}}) == {"a": {"b": 1}}


def test_defaults_are_never_shared_between_objects() -> None:
    schema = structural_schema({"type": "object", "properties": {"a": {"type": "object", "default": {"b": []}}}})
    first: dict[str, Any] = {}
    apply_defaults(first, schema)
    first["a"]["b"] = 1
    second: dict[str, Any] = {}
    apply_defaults(second, schema)
    assert second == {"a": {}}


def test_filling_in_leaves_nulls_without_a_default() -> None:
    obj = {"a": None, "b": None}
    fill_defaults(obj, structural_schema({"type": "object", "properties": {"a": {"type": "integer"}, "b": ONE}}))
    assert obj == {"a": None, "b": 1}


@given(SCHEMAS, objects())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_defaulting_twice_is_defaulting_once(schema: dict[str, Any], obj: Any) -> None:
    tree = structural_schema(schema)
    apply_defaults(obj, tree)
    once = copy.deepcopy(obj)
    apply_defaults(obj, tree)
    assert obj == once


@given(SCHEMAS, objects())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_an_object_that_was_stored_can_be_stored_again(schema: dict[str, Any], obj: Any) -> None:
    """An object that passed validation passes it again after another round of pruning and defaulting."""
    tree = structural_schema(schema)
    prune(obj, tree)
    apply_defaults(obj, tree)
    if validate(obj, tree):
        return
    again = copy.deepcopy(obj)
    prune(again, tree)
    apply_defaults(again, tree)
    assert again == obj
    assert validate(again, tree, obj) == []
