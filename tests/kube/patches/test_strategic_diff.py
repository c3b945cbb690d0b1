"""Strategic merge patches, made."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.encoding.json_text import canonical
from kontend.kube.patches.strategic_diff import strategic_patch_diff
from kontend.kube.patches.strategic_patch import apply_strategic_patch
from kontend.kube.schema.tree import Schema

STRING = Schema("string")
ITEM = Schema("object", properties={"name": STRING, "image": STRING, "args": Schema("array", items=STRING)})
SCHEMA = Schema(
    "object",
    properties={
        "labels": Schema("object", additional=STRING),
        "finalizers": Schema("array", items=STRING, patch_strategy="merge"),
        "containers": Schema("array", items=ITEM, patch_strategy="merge", patch_merge_key="name"),
        "volumes": Schema("array", items=ITEM, patch_strategy="merge,retainKeys", patch_merge_key="name"),
        "tolerations": Schema("array", items=ITEM),
        "strategy": Schema("object", patch_strategy="retainKeys", properties={"type": STRING, "image": STRING}),
        "whole": Schema("object", patch_strategy="replace", properties={"a": STRING, "b": STRING}),
        "node": STRING,
    },
)


def diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return strategic_patch_diff(old, new, SCHEMA)


def test_only_changed_items_are_told_with_their_key_and_the_order() -> None:
    old = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    new = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}
    assert diff(old, new) == {
        "containers": [{"name": "b", "image": "2"}],
        "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
    }


def test_items_that_are_gone_are_deleted() -> None:
    assert diff({"containers": [{"name": "b"}, {"name": "a"}]}, {"containers": [{"name": "b"}]}) == {
        "containers": [{"name": "a", "$patch": "delete"}],
        "$setElementOrder/containers": [{"name": "b"}],
    }


def test_another_order_is_told_alone() -> None:
    old = {"containers": [{"name": "a"}, {"name": "b"}]}
    new = {"containers": [{"name": "b"}, {"name": "a"}]}
    assert diff(old, new) == {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}


def test_primitive_lists_have_additions_deletions_and_order() -> None:
    assert diff({"finalizers": ["a", "b"]}, {"finalizers": ["c", "b"]}) == {
        "finalizers": ["c"],
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
    }


def test_putting_a_primitive_list_in_order_goes_unnoticed() -> None:
    """The server's library sorts the old list before it compares; the patch it makes is kept, flaw included."""
    assert diff({"finalizers": ["b", "a"]}, {"finalizers": ["a", "b"]}) == {}
    assert diff({"finalizers": ["b", "a"]}, {"finalizers": ["b", "a"]}) == {"$setElementOrder/finalizers": ["b", "a"]}


def test_retained_keys_are_listed_when_anything_changes() -> None:
    assert diff({"strategy": {"type": "a", "image": "x"}}, {"strategy": {"type": "b"}}) == {
        "strategy": {"type": "b", "image": None, "$retainKeys": ["type"]}
    }
    assert diff({"strategy": {"type": "a"}}, {"strategy": {"type": "a"}}) == {}


def test_other_lists_and_whole_objects_are_replaced() -> None:
    assert diff({"tolerations": [{"name": "a"}]}, {"tolerations": []}) == {"tolerations": []}
    assert diff({"whole": {"a": "1"}}, {"whole": {"b": "1"}}) == {"whole": {"b": "1"}}


NAMES = st.sampled_from("abcd")
SMALL = st.sampled_from(["", "1", "2"])
ITEMS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"image": SMALL, "args": st.lists(SMALL, max_size=2)}),
    max_size=4,
    unique_by=lambda item: item["name"],
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAMES, SMALL, max_size=3),
        "finalizers": st.lists(NAMES, max_size=4, unique=True).map(sorted),
        "containers": ITEMS,
        "volumes": ITEMS,
        "tolerations": ITEMS,
        "strategy": st.fixed_dictionaries({}, optional={"type": SMALL, "image": SMALL}),
        "whole": st.fixed_dictionaries({}, optional={"a": SMALL, "b": SMALL}),
        "node": SMALL,
    },
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(OBJECTS, OBJECTS)
def test_the_diff_leads_from_the_first_object_to_the_second(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy((old, new))
    patch = diff(old, new)
    assert canonical(apply_strategic_patch(old, patch, SCHEMA)) == canonical(new)
    assert (old, new) == before


@settings(derandomize=True, deadline=None, max_examples=100)
@given(OBJECTS)
def test_nothing_separates_an_object_from_its_copy(obj: dict[str, Any]) -> None:
    obj.pop("whole", None)
    assert diff(obj, copy.deepcopy(obj)) == {}
