"""Pruning."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings

from kontend.kube.schema.pruning import prune
from kontend.kube.schema.structural import structural_schema
from kube.custom_objects import SCHEMAS, objects


def pruned(obj: dict[str, Any], **properties: Any) -> tuple[dict[str, Any], list[str]]:
    dropped = prune(obj, structural_schema({"type": "object", "properties": properties}))
    return obj, dropped


LIST = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_unknown_fields_are_dropped_and_told_in_order() -> None:
    obj = {"kind": "K", "metadata": {"zzz": 1}, "spec": [{"b": 1, "a": "x"}, {"c": {}}], "other": 1}
    assert pruned(obj, spec=LIST) == (
        {"kind": "K", "metadata": {"zzz": 1}, "spec": [{"a": "x"}, {}]},
        ["other", "spec[0].b", "spec[1].c"],
    )


def test_unknown_fields_are_kept_where_the_schema_says_so_but_known_ones_are_pruned_again() -> None:
    spec = {**OPEN, "properties": {"known": {"type": "object"}}}
    obj = {"spec": {"any": {"thing": 1}, "known": {"nope": 1}}}
    assert pruned(obj, spec=spec) == ({"spec": {"any": {"thing": 1}, "known": {}}}, ["spec.known.nope"])


def test_items_of_a_list_that_preserves_are_preserved() -> None:
    spec = {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": {"type": "object"}}
    assert pruned({"spec": [{"a": 1}]}, spec=spec) == ({"spec": [{"a": 1}]}, [])


def test_a_map_of_anything_keeps_its_keys_but_nothing_below_them() -> None:
    spec = {"type": "object", "additionalProperties": True}
    assert pruned({"spec": {"a": 1, "b": {"c": 1}}}, spec=spec) == ({"spec": {"a": 1, "b": {}}}, ["spec.b.c"])


def test_the_metadata_of_embedded_resources_is_left_alone() -> None:
    spec = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"data": {"type": "object"}}}
    obj = {"spec": {"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}, "other": 1}}
    assert pruned(obj, spec=spec)[1] == ["spec.other"]


@given(SCHEMAS, objects())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_pruning_twice_is_pruning_once(schema: dict[str, Any], obj: Any) -> None:
    tree = structural_schema(schema)
    prune(obj, tree)
    once = copy.deepcopy(obj)
    assert prune(obj, tree) == []
    assert obj == once
