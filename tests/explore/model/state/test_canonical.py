"""Canonical forms: clusters up to made-up names and generations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import permutations
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.cluster.cluster import Cluster
from kontend.explore.model.state.canonical import canonical_cluster, canonical_form


def _form(*, generation: int = 1, status: dict[str, Any] | None = None, data: str = "a") -> bytes:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "uid": "u", "generation": generation, "annotations": {"data": data}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
        "status": status or {},
    }
    return canonical_cluster(Cluster(objects=[deployment]).state)


def test_generations_do_not_count() -> None:
    assert _form(generation=1) == _form(generation=5)


def test_uuids_made_from_a_generated_one_count_by_their_places() -> None:
    """The ids of two tasks of a plan differ with the id of the plan; two tasks with one id are another state."""

    def plan(number: int, *tasks: str) -> bytes:
        identity = UUID(f"{number:08x}-0000-4000-b000-{number:012x}")
        return _form(data=" ".join(map(str, [identity, *(uuid5(identity, task) for task in tasks)])))

    assert plan(1, "a", "b") == plan(2, "a", "b")
    assert plan(1, "a", "b") != plan(2, "a", "a")


def test_keys_that_are_generated_uuids_have_no_order() -> None:
    """The value of a uuid does not decide which entry comes first; the entries themselves count."""

    def tasks(**given: int) -> bytes:
        work = {f"{number:08x}-0000-4000-b000-{number:012x}": task for task, number in given.items()}
        store = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "u"}, "data": work}
        return canonical_cluster(Cluster(objects=[store]).state)

    assert tasks(first=1, second=2) == tasks(first=7, second=3)
    assert tasks(first=1, second=2) != tasks(first=1, third=2)
    assert tasks(first=1, second=2) != tasks(first=1)


def test_content_counts() -> None:
    assert _form(data="a") != _form(data="b")


@pytest.mark.parametrize(("generation", "observed", "same"), [(3, 3, True), (3, 2, False)])
def test_an_observed_generation_counts_by_its_distance(generation: int, observed: int, same: bool) -> None:
    first = _form(generation=1, status={"observedGeneration": 1})
    assert (first == _form(generation=generation, status={"observedGeneration": observed})) is same


def test_generated_uuids_count_by_their_structure() -> None:
    one, two = (f"00000000-0000-4000-b000-{number:012x}" for number in (1, 2))
    assert _form(data=one) == _form(data=two)
    assert _form(data=f"{one} {two}") == _form(data=f"{two} {one}")
    assert _form(data=f"{one} {two}") != _form(data=f"{one} {one}")


# Canonical forms of lines


def _uid(number: int) -> bytes:
    return b"%08x-0000-4000-8000-%012x" % (number, number)


#: Lines as tuples of texts and numbers of made-up names.
LINES = st.lists(
    st.lists(st.sampled_from(["a", "b"]) | st.integers(0, 4), min_size=1, max_size=4).map(tuple), min_size=1, max_size=5
)


def _written(lines: list[tuple[str | int, ...]], names: Sequence[int]) -> list[bytes]:
    return [b" ".join(_uid(names[part]) if isinstance(part, int) else part.encode() for part in line) for line in lines]


@given(LINES, st.permutations(range(10, 20)), st.randoms(use_true_random=False))
def test_the_form_does_not_depend_on_names_or_on_the_order_of_lines(
    lines: list[tuple[str | int, ...]], names: list[int], random: Any
) -> None:
    form = canonical_form(_written(lines, range(5)))
    shuffled = list(lines)
    random.shuffle(shuffled)
    assert canonical_form(_written(shuffled, names)) == form


@settings(max_examples=300)
@given(LINES, LINES)
def test_forms_are_equal_exactly_for_lines_that_can_be_renamed_into_each_other(
    one: list[tuple[str | int, ...]], two: list[tuple[str | int, ...]]
) -> None:
    written = sorted(_written(two, range(5)))
    isomorphic = any(sorted(_written(one, names)) == written for names in permutations(range(5)))
    assert (canonical_form(_written(one, range(5))) == canonical_form(_written(two, range(5)))) is isomorphic


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        # cycles: six objects in one ring, or in two rings of three
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], False),
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], [(5, 3), (3, 1), (1, 5), (0, 2), (2, 4), (4, 0)], True),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], [(5, 3), (3, 1), (1, 0), (0, 2), (2, 4), (4, 5)], True),
        ([(0,), (0,), (1,)], [(0,), (1,), (1,)], True),
        ([(0,), (0,), (1,)], [(0,), (1,), (2,)], False),
    ],
)
def test_symmetric_structures_are_told_apart(one: Any, two: Any, same: bool) -> None:
    assert (canonical_form(_written(one, range(6))) == canonical_form(_written(two, range(6)))) is same


def test_many_interchangeable_names_cost_little() -> None:
    lines = [b"pod " + _uid(number) for number in range(60)]
    started = time.process_time()
    canonical_form(lines)
    assert time.process_time() - started < 5


def test_many_interchangeable_objects_with_a_name_and_a_uid_cost_little() -> None:
    uids = [f"{number:08d}-0000-4000-8000-000000000001" for number in range(40)]
    lines = [f"pod-{number:03d} {uid} {uid[:4]}".encode() for number, uid in enumerate(uids)]
    names = [f"pod-{number:03d}".encode() for number in range(40)]
    start = time.perf_counter()
    form = canonical_form(lines, names)
    assert time.perf_counter() - start < 5
    assert form == canonical_form(lines[::-1], names)


def test_generated_names_and_stored_versions_are_made_up() -> None:
    def form(name: str, version: int) -> bytes:
        metadata = {
            "name": f"c-{name}",
            "generateName": "c-",
            "annotations": {"seen": str(version), "self": f"c-{name}"},
        }
        return canonical_cluster(
            Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}]).state
        )

    assert form("abcde", 7_000_000_000_000_001) == form("vwxyz", 7_000_000_000_000_009)


def test_parts_of_identities_are_made_up_where_they_were_handed_out() -> None:
    def form(uid: bytes, identities: Sequence[bytes]) -> bytes:
        metadata = {"name": f"of-{uid.decode()[:8]}", "uid": "u"}
        state = Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}]).state
        return canonical_cluster(state, [identity.decode() for identity in identities])

    one, two = _uid(0x1234567A), _uid(0x7654321B)
    assert form(one, [one]) == form(two, [two])
    assert form(one, []) != form(two, [])
