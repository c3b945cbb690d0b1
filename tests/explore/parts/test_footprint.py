"""Footprints: two parts are independent unless one changes what the other one reads, lists or changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from explore.widgets import CRD, WIDGET, Widgets
from kontend.cluster.cluster import Cluster
from kontend.cluster.reads import Reads
from kontend.cluster.state import Version
from kontend.explore import Scenario
from kontend.explore.model.model import Model
from kontend.explore.model.part import Part
from kontend.explore.parts.footprint import Footprint, Listing
from kontend.kube.meta.names import Key

MAPS, SECRETS = "configmaps", "secrets"
C, D = Key("default", "c"), Key("default", "d")
START = Model(Scenario([Widgets()], crds=[CRD], objects=[WIDGET])).initial()


def version(**labels: str) -> Version:
    """A ConfigMap with some labels, as the server stores it."""
    metadata: dict[str, Any] = {"name": "c", "namespace": "default", "labels": labels}
    cluster = Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}])
    stored = cluster.state.find(MAPS, C)
    assert stored is not None
    return stored


RED, BLUE, PLAIN = version(color="red"), version(color="blue"), version()


def footprint(
    *,
    changed: Iterable[tuple[str, Key, Version]] = (),
    named: Iterable[tuple[str, Key]] = (),
    listings: Iterable[Listing] = (),
    requests: Iterable[tuple[int, Key]] = (),
    server_reads: Iterable[tuple[str, Key]] = (),
    resources: Iterable[str] = (),
) -> Footprint:
    """The footprint of a part that has done this and nothing else."""
    part = Part(START, START.state, (), (), set(requests))
    for resource, key, stored in changed:
        part.changed.setdefault((resource, key), {})[stored.digest] = stored
    return Footprint(part, frozenset(named), frozenset(listings), Reads(set(server_reads), set(resources)))


def listing(resource: str = MAPS, namespace: str = "", labels: str | None = None) -> Listing:
    """A list, of a namespace or by labels."""
    return Listing(resource, namespace, () if labels is None else (("labelSelector", labels), ("limit", "5")))


@pytest.mark.parametrize(
    ("made", "stored", "shown"),
    [
        (listing(), [PLAIN], True),
        (listing(SECRETS), [PLAIN], False),
        (listing(namespace="default"), [PLAIN], True),
        (listing(namespace="other"), [PLAIN], False),
        (listing(labels="color=red"), [RED], True),
        (listing(labels="color=red"), [BLUE], False),
        (listing(labels="color=red"), [PLAIN], False),
        # An object that has had the label at any time may be shown.
        (listing(labels="color=red"), [BLUE, RED], True),
        (listing(SECRETS, labels="color=red"), [RED], False),
        (listing(namespace="other", labels="color=red"), [RED], False),
        # A selector that the server refuses is taken for one that shows everything.
        (listing(labels="color in ("), [PLAIN], True),
    ],
)
def test_a_list_shows_the_objects_that_it_selects(made: Listing, stored: list[Version], shown: bool) -> None:
    assert made.shows(MAPS, C, {known.digest: known for known in stored}) is shown


CHANGES = footprint(changed=[(MAPS, C, RED)])


@pytest.mark.parametrize(
    ("other", "meets"),
    [
        (footprint(), False),
        (footprint(named=[(MAPS, C)]), True),
        (footprint(named=[(MAPS, D), (SECRETS, C)]), False),
        (footprint(changed=[(MAPS, C, BLUE)]), True),
        (footprint(changed=[(MAPS, D, RED), (SECRETS, C, RED)]), False),
        (footprint(listings=[listing()]), True),
        (footprint(server_reads=[(MAPS, C)]), True),
        (footprint(server_reads=[(MAPS, D), (SECRETS, C)]), False),
        (footprint(resources=[MAPS]), True),
        (footprint(resources=[SECRETS]), False),
        (footprint(listings=[listing(labels="color=red")]), True),
        (footprint(listings=[listing(SECRETS), listing(labels="color=blue")]), False),
    ],
)
def test_a_part_meets_another_one_that_touches_what_it_changes(other: Footprint, meets: bool) -> None:
    assert CHANGES.meets(other) is meets
    assert other.meets(CHANGES) is meets


def test_parts_that_only_read_the_same_objects_are_independent() -> None:
    one = footprint(named=[(MAPS, C)], listings=[listing()])
    assert not one.meets(footprint(named=[(MAPS, C)], listings=[listing()]))


def test_parts_that_reconcile_the_same_request_meet() -> None:
    one = footprint(requests=[(0, C)])
    assert one.meets(footprint(requests=[(0, C), (0, D)]))
    assert not one.meets(footprint(requests=[(0, D), (1, C)]))
