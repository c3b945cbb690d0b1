"""Deletions of what is still needed: the end of the run looks right, and what was in the object is gone."""

from __future__ import annotations

from typing import Any

import pytest

from kontend import Cluster
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Crash, Perturbation, Rewind
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Expected, findings
from kontend.live.properties.masking import Mask
from kontend.live.properties.needless import deletions_of
from kontend.live.runs.outcome import Run

REWIND = Rewind("configmaps", 1, 1)
CRASH = Crash(Point(Call("create", "configmaps", "default", "owner")))


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def deleting(perturbation: Perturbation, *, locked: bool = False, owned: bool = True, again: bool = True) -> Run:
    """A run in which a process deletes a child, and perhaps makes it again."""
    cluster = Cluster()
    owner = cluster.create(config_map("owner"))["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"], "controller": True}
    child = config_map("child", ownerReferences=[reference] if owned else [])
    cluster.create(child)
    before = cluster.state
    cluster.delete("ConfigMap/v1", "child")
    request = Request(
        1, "controller", Call("delete", "configmaps", "default", "child"), 0.0, 1, Key("default", "child")
    )
    request.before, request.after, request.locked, request.code = before, cluster.state, locked, 200
    if again:
        cluster.create(child)
    log = Log()
    log.add(request)
    return Run(Plan((perturbation,)), log, Rest.IDLE, before, cluster.state)


def found(run: Run, *unperturbed: Run) -> list[str]:
    """The properties that a run violates."""
    return [each.property for each in findings(run, Expected((), Mask(), deletions=deletions_of(unperturbed)))]


def test_a_child_that_is_deleted_with_a_stale_cache_and_made_again_was_needed() -> None:
    assert found(deleting(REWIND)) == ["needless deletion"]


@pytest.mark.parametrize(
    "run",
    [
        deleting(REWIND, locked=True),
        deleting(REWIND, owned=False),
        deleting(REWIND, again=False),
        deleting(CRASH),
    ],
    ids=["it names a version", "nobody controls it", "it is not made again", "nothing is stale"],
)
def test_other_deletions_are_no_violation(run: Run) -> None:
    assert found(run) == []


def test_a_deletion_that_unperturbed_runs_make_too_is_no_violation() -> None:
    assert found(deleting(REWIND), deleting(REWIND)) == []
