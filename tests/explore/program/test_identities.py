"""Identities depend only on what they are for, and none is handed out twice."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kontend.explore.program.identities import (
    FIRST_VERSION,
    IDENTITIES,
    UUIDS,
    VERSIONS,
    first_serial,
    generated_uuid,
    issued_identities,
)

NAMES = st.text("abc/", max_size=4)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 5)), unique=True, min_size=2, max_size=30))
def test_serials_do_not_overlap(subjects: list[tuple[str, str, int]]) -> None:
    serials = sorted(first_serial(*subject) for subject in subjects)
    assert all(after - before >= 16 for before, after in pairwise(serials))


@given(NAMES, st.integers(0, 1_000))
def test_generated_uuids_are_recognised(label: str, number: int) -> None:
    uuid = generated_uuid(label, number)
    assert IDENTITIES.fullmatch(uuid.encode())
    assert uuid == generated_uuid(label, number)
    assert uuid != generated_uuid(label, number + 1)


def test_versions_are_recognised() -> None:
    assert VERSIONS.fullmatch(str(FIRST_VERSION + 123).encode())
    assert not VERSIONS.fullmatch(b"123")


def test_the_identities_that_were_issued_can_be_listed() -> None:
    issued = list(issued_identities([(f"{UUIDS}widgets default/w", 2), ("ConfigMap/v1\0default/c", 1)]))
    assert issued[:2] == [generated_uuid("widgets default/w", 0), generated_uuid("widgets default/w", 1)]
    serial = first_serial("ConfigMap/v1", "default/c", 0) + 1
    assert f"{serial:08x}-0000-4000-8000-{serial:012x}" in issued[2:]
    assert len(set(issued)) == len(issued)
