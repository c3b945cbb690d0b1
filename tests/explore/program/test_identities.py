"""Identities depend only on what they are for, and none is handed out twice."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kontend.cluster.state import uid_of
from kontend.explore.problems import BadScenario
from kontend.explore.program import identities
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


def test_uids_of_many_objects_differ() -> None:
    # With 28 bits, two of these would get the same one.
    uids = {uid_of(first_serial("ConfigMap/v1", f"default/c{number}", 0) + 1) for number in range(50_000)}
    assert len(uids) == 50_000
    assert all(IDENTITIES.fullmatch(uid.encode()) for uid in uids)


def test_two_objects_with_the_same_uid_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "_HOLDERS", {})
    monkeypatch.setattr("kontend.explore.program.identities.xxhash.xxh3_64_intdigest", lambda _: 5)
    first_serial("ConfigMap/v1", "default/only-in-this-test", 0)
    with pytest.raises(BadScenario, match="would get the same uid"):
        first_serial("ConfigMap/v1", "default/only-in-this-test-as-well", 0)
    first_serial.cache_clear()


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
    assert uid_of(serial) in issued[2:]
    assert len(set(issued)) == len(issued)
