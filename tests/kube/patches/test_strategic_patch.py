"""Strategic merge patch, applied."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kontend.kube.errors import ApiError, BadRequest, Invalid
from kontend.kube.patches.strategic_patch import apply_strategic_patch
from kontend.kube.schema.tree import Schema

STRING = Schema("string")
ENV = Schema("object", go_type="EnvVar", properties={"name": STRING, "value": STRING})
CONTAINER = Schema(
    "object",
    go_type="Container",
    properties={
        "name": STRING,
        "image": STRING,
        "args": Schema("array", items=STRING),
        "env": Schema("array", items=ENV, patch_strategy="merge", patch_merge_key="name"),
    },
)
STRATEGY = Schema("object", patch_strategy="retainKeys", properties={"type": STRING, "rollingUpdate": Schema("object")})
POD = Schema(
    "object",
    go_type="Pod",
    properties={
        "labels": Schema("object", additional=STRING),
        "finalizers": Schema("array", items=STRING, patch_strategy="merge"),
        "containers": Schema("array", items=CONTAINER, patch_strategy="merge", patch_merge_key="name"),
        "volumes": Schema("array", items=ENV, patch_strategy="merge,retainKeys", patch_merge_key="name"),
        "tolerations": Schema("array", items=ENV),
        "strategy": STRATEGY,
        "whole": Schema("object", patch_strategy="replace", properties={"a": STRING, "b": STRING}),
        "keyless": Schema("array", items=ENV, patch_strategy="merge"),
        "lists": Schema("array", items=Schema("array", items=STRING), patch_strategy="merge"),
    },
)


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in names]


def patched(obj: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(obj)
    result = apply_strategic_patch(obj, patch, POD)
    assert obj == before
    return result


def names(obj: dict[str, Any], field: str = "containers") -> list[str]:
    return [item["name"] for item in obj[field]]


def test_messages_show_a_patch_without_what_was_carried_out() -> None:
    """As the server's library leaves it behind."""
    patch = {
        "replicas": "x",
        "labels": {"$retainKeys": ["a"], "a": "1"},
        "$setElementOrder/containers": named("b", "a"),
        "containers": named("a", image="a:2"),
        "fresh": {"kept": {"b": None, "c": [{"$patch": "delete"}, None]}, "gone": {"$patch": "delete"}},
    }
    patched({"labels": {"b": "2"}, "containers": named("a", "b")}, patch)
    assert patch == {"replicas": "x", "labels": {"a": "1"}, "fresh": {"kept": {"c": [None]}}}


def test_maps_are_merged_and_nulls_remove() -> None:
    assert patched({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None, "c": "3"}}) == {
        "labels": {"b": "2", "c": "3"}
    }


def test_what_the_patch_does_not_touch_is_shared() -> None:
    obj = {"labels": {"a": "1"}, "tolerations": named("x")}
    assert patched(obj, {"labels": {"b": "2"}})["tolerations"] is obj["tolerations"]


def test_items_are_merged_by_their_key() -> None:
    obj = {"containers": [{"name": "a", "image": "a:1", "args": ["x"]}, {"name": "b"}]}
    result = patched(obj, {"containers": [{"name": "a", "image": "a:2", "args": ["y"]}]})
    assert result == {"containers": [{"name": "a", "image": "a:2", "args": ["y"]}, {"name": "b"}]}


def test_a_new_item_comes_first() -> None:
    assert names(patched({"containers": named("a", "b")}, {"containers": named("c")})) == ["c", "a", "b"]


def test_items_keep_the_order_of_the_patch_among_themselves() -> None:
    assert names(patched({"containers": named("a", "b", "c")}, {"containers": named("c", "a")})) == ["b", "c", "a"]


def test_an_item_can_be_deleted() -> None:
    obj = {"containers": named("a", "b")}
    assert names(patched(obj, {"containers": [{"name": "b", "$patch": "delete"}]})) == ["a"]
    assert names(patched(obj, {"containers": [{"name": "z", "$patch": "delete"}]})) == ["a", "b"]


def test_a_merged_list_can_be_replaced() -> None:
    obj = {"containers": [{"name": "a", "env": named("X", "Y")}]}
    patch = {"containers": [{"name": "a", "env": [{"$patch": "replace"}, {"name": "Q"}]}]}
    assert patched(obj, patch) == {"containers": [{"name": "a", "env": named("Q")}]}


def test_other_lists_are_replaced() -> None:
    assert patched({"tolerations": named("a")}, {"tolerations": named("b")}) == {"tolerations": named("b")}


def test_a_map_can_be_replaced_or_emptied() -> None:
    assert patched({"labels": {"a": "1"}}, {"labels": {"$patch": "replace", "z": "1"}}) == {"labels": {"z": "1"}}
    assert patched({"labels": {"a": "1"}}, {"labels": {"$patch": "delete"}}) == {"labels": {}}


def test_a_directive_for_a_field_that_is_not_there_does_nothing() -> None:
    assert patched({}, {"labels": {"$patch": "replace", "z": "1"}}) == {}
    assert patched({}, {"containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": None}]}) == {
        "containers": [{"name": "b"}]
    }


def test_a_field_with_the_strategy_replace_is_taken_whole() -> None:
    assert patched({"whole": {"a": "1"}}, {"whole": {"b": "2"}}) == {"whole": {"b": "2"}}


def test_primitive_lists_are_united() -> None:
    assert patched({"finalizers": ["a"]}, {"finalizers": ["b"]}) == {"finalizers": ["b", "a"]}
    assert patched({"finalizers": ["a", "b"]}, {"finalizers": ["b"]}) == {"finalizers": ["a", "b"]}


def test_values_can_be_deleted_from_primitive_lists() -> None:
    deletion = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert patched({"finalizers": ["b", "a"]}, deletion) == {"finalizers": ["b"]}
    assert patched({}, deletion) == {}


def test_the_order_of_items_can_be_set() -> None:
    obj = {"containers": named("a", "b", "server")}
    order = {"$setElementOrder/containers": named("b", "a"), "containers": [{"name": "a", "image": "a:3"}]}
    result = patched(obj, order)
    assert names(result) == ["b", "a", "server"]
    assert result["containers"][1]["image"] == "a:3"
    assert names(patched(obj, {"$setElementOrder/containers": named("b", "a")})) == ["b", "a", "server"]
    assert patched({}, {"$setElementOrder/containers": named("a")}) == {}


def test_only_retained_keys_stay() -> None:
    obj = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    assert patched(obj, {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}) == {
        "strategy": {"type": "Recreate"}
    }


def test_a_value_of_another_type_takes_the_place() -> None:
    assert patched({"labels": {"a": "1"}}, {"labels": "x"}) == {"labels": "x"}
    assert patched({"finalizers": ["a"]}, {"$deleteFromPrimitiveList/finalizers": "x"}) == {"finalizers": ["a"]}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"strategy": {"$retainKeys": "type"}}, "invalid patch format of retainKeys"),
        ({"strategy": {"$retainKeys": [], "type": "x"}}, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": ["a"]}, "invalid patch format of primitive list"),
        ({"$setElementOrder": ["a"]}, "invalid patch format of setElementOrder list"),
    ],
)
def test_malformed_directives_are_bad_requests(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        patched({"strategy": {"type": "a"}, "finalizers": ["a"]}, patch)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"$patch": "merge", "a": [1]}, "unknown patch type: merge in map: map[$patch:merge a:[1]]"),
        ({"$patch": 3}, "unknown patch type: %!s(int64=3) in map: map[$patch:3]"),
        ({"containers": [{"image": "x"}]}, "map: map[image:x] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "delete"}]}, "map: map[$patch:delete] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "merge"}]}, "merging lists cannot yet be specified in the patch"),
        ({"containers": [{"$patch": "x"}]}, "unknown patch type: x in map: map[$patch:x]"),
        ({"containers": ["x"]}, "list element types are not identical: [[map[name:a]] [x]]"),
        ({"keyless": named("b")}, "cannot merge lists without merge key for struct"),
        ({"lists": [["a"]]}, "unexpected slice of slice"),
        ({"unknown": {"a": "1"}}, 'unable to find api field in struct Pod for the json field "unknown"'),
        (
            {"labels": {"deep": {"a": "1"}}},
            "merging an object in json but data type is not struct, instead is: map",
        ),
        ({"$setElementOrder/containers": "x"}, "expected a []interface {}, but received a string"),
        ({"$setElementOrder/labels": []}, "expected a []interface {}, but received a map[string]interface {}"),
        (
            {"$setElementOrder/containers": named("b"), "containers": named("a")},
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
    ],
)
def test_patches_that_do_not_fit_fail_with_500_and_no_reason(patch: dict[str, Any], message: str) -> None:
    obj = {
        "containers": named("a"),
        "keyless": named("a"),
        "labels": {"deep": {"a": "0"}},
        "lists": [["x"]],
        "unknown": {"a": "0"},
    }
    with pytest.raises(ApiError) as refused:
        patched(obj, patch)
    assert (refused.value.message, refused.value.http_code, refused.value.status_reason) == (message, 500, "")


def test_lists_of_lists_are_rejected() -> None:
    with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
        patched({"finalizers": [["a"]]}, {"finalizers": [["b"]]})
