"""JSON Merge Patch, applied and made."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import BadRequest
from kontend.kube.patches.merge_patch import apply_merge_patch, merge_patch_diff, parse_merge_patch


def test_null_removes_a_field_and_objects_are_merged() -> None:
    obj = {"spec": {"nested": {"a": "x", "b": {"c": 7}}}}
    assert apply_merge_patch(obj, {"spec": {"nested": {"a": None}}}) == {"spec": {"nested": {"b": {"c": 7}}}}


def test_nulls_in_what_is_new_disappear_except_as_items_of_lists() -> None:
    patch = {"extra": {"any": [1, None, {"x": None}], "y": None}}
    assert apply_merge_patch({}, patch) == {"extra": {"any": [1, None, {}]}}


def test_a_list_in_place_of_an_object_keeps_its_nulls() -> None:
    assert apply_merge_patch({"a": {}}, {"a": [{"x": None}]}) == {"a": [{"x": None}]}


def test_an_object_in_place_of_a_scalar_loses_its_nulls() -> None:
    assert apply_merge_patch({"a": 1}, {"a": {"x": None, "y": 1}}) == {"a": {"y": 1}}


def test_what_the_patch_does_not_touch_is_shared() -> None:
    obj: dict[str, Any] = {"metadata": {"labels": {"a": "1"}}, "spec": {"x": [1]}}
    result = apply_merge_patch(obj, {"metadata": {"labels": {"a": "2"}}})
    assert result["spec"] is obj["spec"]
    assert obj["metadata"]["labels"] == {"a": "1"}


def test_a_patch_without_effect_gives_back_the_same_object() -> None:
    obj = {"a": 1, "b": {"c": "x"}}
    assert apply_merge_patch(obj, {"a": 1, "b": {"c": "x", "d": None}, "e": None}) is obj


def test_true_is_not_one() -> None:
    assert apply_merge_patch({"a": 1}, {"a": True})["a"] is True
    assert merge_patch_diff({"a": [1], "b": 1}, {"a": [True], "b": True}) == {"a": [True], "b": True}


def test_a_diff_replaces_lists_whole_and_nulls_what_is_gone() -> None:
    old = {"a": {"b": [1, 2], "c": "x"}, "d": 1, "same": {"deep": [{}]}}
    new = {"a": {"b": [1, 3], "e": {}}, "same": {"deep": [{}]}}
    assert merge_patch_diff(old, new) == {"a": {"b": [1, 3], "c": None, "e": {}}, "d": None}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{not json", "error decoding patch: invalid character 'n' looking for beginning of object key string"),
        (b"", "error decoding patch: unexpected end of JSON input"),
        (b"[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"null", "Invalid JSON Patch"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(raw: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_merge_patch(raw)
    assert refused.value.message == message


def test_repeated_keys_are_told() -> None:
    assert parse_merge_patch(b'{"a":{"b":1,"b":2}}') == ({"a": {"b": 2}}, ['duplicate field "a.b"'])
    assert parse_merge_patch(b'{"a":{"b":1,"b":2}}', field_validation="Ignore") == ({"a": {"b": 2}}, [])


SCALARS = st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=10,
)
# Merge patches cannot write a null into an object, so that lists hold none of them as fields either.
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(OBJECTS, OBJECTS)
def test_the_diff_leads_from_the_first_object_to_the_second(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy((old, new))
    result = apply_merge_patch(old, merge_patch_diff(old, new))
    assert canonical(result) == canonical(new)
    assert (old, new) == before


@settings(derandomize=True, deadline=None, max_examples=100)
@given(OBJECTS)
def test_nothing_separates_an_object_from_its_copy(obj: dict[str, Any]) -> None:
    assert merge_patch_diff(obj, copy.deepcopy(obj)) == {}
