"""When two ends are the same."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.explore.model.canonical import canonical_cluster


def _key(*, generation: int = 1, status: dict[str, Any] | None = None, data: str = "a") -> bytes:
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


def test_how_often_an_object_was_written_does_not_matter() -> None:
    assert _key(generation=1) == _key(generation=5)


def test_what_it_holds_does() -> None:
    assert _key(data="a") != _key(data="b")


@pytest.mark.parametrize(("generation", "observed", "same"), [(3, 3, True), (3, 2, False)])
def test_an_observed_generation_counts_as_how_far_it_is_behind(generation: int, observed: int, same: bool) -> None:
    first = _key(generation=1, status={"observedGeneration": 1})
    assert (first == _key(generation=generation, status={"observedGeneration": observed})) is same


def test_uuids_that_were_drawn_are_called_by_the_order_in_which_they_are_met() -> None:
    one, two = (f"00000000-0000-4000-b000-{number:012x}" for number in (1, 2))
    assert _key(data=one) == _key(data=two)
    assert _key(data=f"{one} {two}") == _key(data=f"{two} {one}")
    assert _key(data=f"{one} {two}") != _key(data=f"{one} {one}")
