"""The hashes in names and labels are those of kube-controller-manager 1.35."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kontend import Cluster
from kontend.controllers.workloads.revisions import revision_hash, template_patch
from kontend.controllers.workloads.template_hash import printed, template_hash

LARGE: dict[str, Any] = json.loads((Path(__file__).parent / "large_template.json").read_text())


def _defaulted(template: dict[str, Any]) -> dict[str, Any]:
    labels = template["metadata"]["labels"]
    spec = {"selector": {"matchLabels": labels}, "template": template}
    made = Cluster().create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    stored: dict[str, Any] = made["spec"]["template"]
    return stored


SMALL = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}


def test_a_small_template_has_the_hash_that_go_computes() -> None:
    """With its defaults, as it is stored."""
    assert template_hash(_defaulted(SMALL), None) == "78874b7c96"


def test_a_template_with_almost_everything_has_the_hash_that_go_computes() -> None:
    """Volumes of many kinds, probes, affinity, quantities small and large; taken from the Go program."""
    assert template_hash(LARGE, None) == "7659695bc9"


def test_a_collision_changes_the_hash() -> None:
    """Also the first one, whose count is not zero but one."""
    assert len({template_hash(LARGE, count) for count in (None, 0, 1)}) == 3


def test_empty_lists_and_missing_ones_are_the_same() -> None:
    """Protobuf does not tell them apart."""
    assert printed({"spec": {"tolerations": []}}) == printed({"spec": {}})


def test_a_revision_has_the_hash_that_was_recorded() -> None:
    """From a cluster with kube-controller-manager: the pod's label says d-7b7d5c9bd4."""
    assert revision_hash(template_patch({"spec": {"template": _defaulted(SMALL)}}), 0) == "7b7d5c9bd4"


def test_a_revision_escapes_as_go_does() -> None:
    """The characters that mean something in HTML are written as code points."""
    assert revision_hash({"a": "<&>"}, 0) == revision_hash(json.loads('{"a": "\\u003c\\u0026\\u003e"}'), 0)
    assert revision_hash({"a": "<"}, 0) != revision_hash({"a": "u003c"}, 0)
