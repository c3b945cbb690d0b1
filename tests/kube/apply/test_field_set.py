"""Sets of fields: the algebra, the canonical form, and the words for a path."""

import copy
import gc
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.apply.field_set import (
    FieldSet,
    MalformedFields,
    Tree,
    contains,
    difference,
    intersection,
    parse_element,
    paths,
    recursive_difference,
    union,
)

ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:0"]


def _as_node(pair: tuple[Tree, bool]) -> Tree:
    below, is_member = pair
    return {".": {}, **below} if below and is_member else below


#: A node is a leaf, or has others below it and may be a member itself.
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.just({}),
    lambda below: st.dictionaries(st.sampled_from(ELEMENTS), st.tuples(below, st.booleans()).map(_as_node), max_size=4),
    max_leaves=12,
)


def members(tree: Tree, prefix: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The set as Python understands sets."""
    paths = set()
    for element, below in tree.items():
        if element != ".":
            path = (*prefix, element)
            if not below or "." in below:
                paths.add(path)
            paths |= members(below, path)
    return paths


fast = settings(derandomize=True, deadline=None, max_examples=200)


@fast
@given(TREES, TREES)
def test_the_algebra_is_that_of_sets(a: Tree, b: Tree) -> None:
    before = copy.deepcopy((a, b))
    assert members(union(a, b)) == members(a) | members(b)
    assert members(intersection(a, b)) == members(a) & members(b)
    assert members(difference(a, b)) == members(a) - members(b)
    assert contains(a, b) == (members(a) >= members(b))
    assert (a, b) == before, "the inputs stay as they were"


@fast
@given(TREES, TREES)
def test_a_recursive_difference_also_takes_what_is_below(a: Tree, b: Tree) -> None:
    gone = members(b)
    left = {path for path in members(a) if not any(path[:length] in gone for length in range(1, len(path) + 1))}
    assert members(recursive_difference(a, b)) == left


@fast
@given(TREES, TREES)
def test_results_are_canonical(a: Tree, b: Tree) -> None:
    for result in (union(a, b), intersection(a, b), difference(a, b), recursive_difference(a, b)):
        assert FieldSet.parse(result) is FieldSet(result)


@fast
@given(TREES)
def test_what_loses_nothing_is_the_same_object(a: Tree) -> None:
    assert difference(a, {"f:other": {}}) is a
    assert recursive_difference(a, {"f:other": {}}) is a
    assert union(a, a) is a


def test_equal_sets_are_one_object_as_long_as_somebody_holds_it() -> None:
    one = FieldSet({"f:spec": {"f:b": {}, "f:a": {}}})
    assert FieldSet({"f:spec": {"f:a": {}, "f:b": {}}}) is one
    assert one.json == b'{"f:spec":{"f:a":{},"f:b":{}}}'
    assert pickle.loads(pickle.dumps(one)) is one  # noqa: S301
    text = one.json
    del one
    gc.collect()
    assert FieldSet({"f:spec": {"f:a": {}, "f:b": {}}}).json == text


def test_a_written_set_is_brought_into_canonical_form() -> None:
    raw: Tree = {
        "f:a": {".": {}},
        'k:{"b": 2, "a": 1.0}': {"f:x": {}},
        "v:1": {},
        'v:"<"': {},
        "z:unknown": {"f:y": {}},
    }
    assert FieldSet.parse(raw).tree == {"f:a": {}, 'k:{"a":1,"b":2}': {"f:x": {}}, "v:1": {}, 'v:"\\u003c"': {}}


@pytest.mark.parametrize("raw", [{"f": {}}, {"spec": {}}, {"i:x": {}}, {"v:{": {}}, {"k:1": {}}, {"f:a": 1}, [], "f:a"])
def test_what_is_not_a_set_is_refused(raw: Any) -> None:
    with pytest.raises(MalformedFields):
        FieldSet.parse(raw)


def test_unknown_kinds_of_elements_are_forgotten() -> None:
    assert parse_element("x:y") is None


def test_paths_are_listed_level_by_level_in_the_servers_order() -> None:
    tree: Tree = {
        "f:b": {".": {}, "f:z": {}},
        "f:a": {"v:true": {}, 'v:"s"': {}, "v:10": {}, "v:9": {}, 'k:{"p":2}': {}, 'k:{"p":10}': {}, "i:3": {}},
        "f:c": {'k:{"n":"x","p":1}': {".": {}, "f:q": {}}},
    }
    assert list(paths(tree)) == [
        ".b", ".a[p=2]", ".a[p=10]", ".a[=9]", ".a[=10]", '.a[="s"]', ".a[=true]", ".a[3]", ".b.z",
        '.c[n="x",p=1]', '.c[n="x",p=1].q',
    ]  # fmt: skip
