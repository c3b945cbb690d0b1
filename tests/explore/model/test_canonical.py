"""Canonical forms: clusters up to made-up names and generations."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.explore.model.canonical import canonical_cluster


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
