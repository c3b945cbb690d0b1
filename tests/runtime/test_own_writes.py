"""The record of a process's own writes: what a cached read must wait for, and when that is dropped."""

from __future__ import annotations

import pytest

from kontend.kube.meta.names import Key
from kontend.runtime.guards import OwnWrites

A, B = Key("default", "a"), Key("other", "b")
POD, NODE = "Pod/v1", "Node/v1"


def test_the_newest_write_of_an_object_counts() -> None:
    writes = OwnWrites()
    writes.record(POD, A, 5)
    writes.record(POD, A, 3)
    assert writes.of(POD, A) == 5
    assert (writes.of(POD, B), writes.of(NODE, A)) == (0, 0)


def test_a_list_waits_for_the_newest_write_of_its_kind_and_namespace() -> None:
    writes = OwnWrites()
    writes.record(POD, A, 5)
    writes.record(POD, B, 7)
    writes.record(NODE, A, 9)
    assert [writes.within(POD, namespace) for namespace in ("default", "other", "none", "")] == [5, 7, 0, 7]


@pytest.mark.parametrize(("seen", "left"), [(4, {5, 7}), (5, {7}), (6, {7}), (7, set())])
def test_writes_that_the_cache_has_seen_are_dropped_and_no_others(seen: int, left: set[int]) -> None:
    """A write at the very version that was seen has been seen; another kind has another cache."""
    writes = OwnWrites()
    writes.record(POD, A, 5)
    writes.record(POD, B, 7)
    writes.record(NODE, A, 2)
    writes.forget_before(POD, seen)
    assert {version for (kind, _), version in writes.versions.items() if kind == POD} == left
    assert writes.of(NODE, A) == 2


def test_kinds_without_a_cache_are_not_recorded() -> None:
    writes = OwnWrites(followed={POD})
    writes.record(NODE, A, 5)
    writes.record_delete(NODE, "u1")
    assert (writes.versions, writes.deleted) == ({}, {})
    writes.record(POD, A, 5)
    writes.record_delete(POD, "u2")
    assert writes.of(POD, A) == 5
    assert writes.is_deleted({"metadata": {"uid": "u2"}})


def test_a_delete_hides_an_object_by_its_uid_until_the_cache_has_seen_it() -> None:
    writes = OwnWrites()
    writes.record_delete(POD, "")  # the server did not say which
    assert writes.deleted == {}
    writes.record_delete(POD, "u1")
    assert writes.is_deleted({"metadata": {"uid": "u1"}})
    assert not writes.is_deleted({"metadata": {"uid": "u2"}})
    assert not writes.is_deleted({})
    writes.forget_delete("u1")
    assert not writes.is_deleted({"metadata": {"uid": "u1"}})
    writes.forget_delete("u1")
