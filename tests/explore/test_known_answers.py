"""Scenarios with known answers: the final states that several controllers can reach."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from definitions import definition
from effort import THOROUGH
from explore.samples import DEPLOYMENT, deployment
from kontend import Api, Cluster, Controller, Request
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check

FOO = "Foo.webapp.example.com/v1"
CRD = definition("Foo", group="webapp.example.com")
OBJECT: dict[str, Any] = {
    "apiVersion": "webapp.example.com/v1",
    "kind": "Foo",
    "metadata": {"name": "foo"},
    "spec": {"mode": "A"},
}


def _state(obj: dict[str, Any]) -> str:
    return str((obj.get("status") or {}).get("state", ""))


class Steps(Controller):
    """Advances the state by a table for each mode."""

    kind = FOO
    table: ClassVar[dict[str, dict[str, str]]] = {"A": {"": "A-1", "A-1": "A-Final"}}

    async def reconcile(self, request: Request, api: Api) -> None:
        """One step."""
        obj = await api.get(self.kind, request)
        following = self.table[obj["spec"]["mode"]].get(_state(obj))
        if following:
            obj["status"] = {"state": following}
            await api.status.update(obj)


class Foo(Steps):
    """One of two identical controllers."""


class Bar(Steps):
    """The other one."""


class ModeFoo(Steps):
    """Three steps, in one of two modes."""

    name = "foo"
    table: ClassVar = {
        "A": {"": "A-1", "B-1": "A-1", "A-1": "A-2", "A-2": "A-Final"},
        "B": {"": "B-1", "A-1": "B-1", "B-1": "B-2", "B-2": "B-Final"},
    }


class ModeBar(Controller):
    """Flips the mode once, if it runs early enough; otherwise advances the state to the final one."""

    kind = FOO
    name = "bar"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Flip or finish."""
        obj = await api.get(self.kind, request)
        state = _state(obj)
        annotations = obj["metadata"].setdefault("annotations", {})
        if "mode-flip-done" not in annotations and state in ("A-1", "B-1"):
            obj["spec"]["mode"] = "B" if state == "A-1" else "A"
            annotations["mode-flip-done"] = "1"
            await api.update(obj)
            return
        if state == "A-2" or (obj["spec"]["mode"] == "B" and state == "B-2"):
            obj["status"] = {"state": f"{state[0]}-Final"}
            await api.status.update(obj)


def _final(verdict: Verdict) -> set[str]:
    return {_state(Cluster(state=state).get(FOO, "foo")) for state in verdict.final_states}


@pytest.mark.parametrize("lag", [0, 1])
def test_two_identical_controllers_reach_one_final_state(lag: int) -> None:
    verdict = check(Scenario([Foo(), Bar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(faults=0, lag=lag)))
    assert verdict.ok
    assert _final(verdict) == {"A-Final"}


@pytest.mark.parametrize("lag", [0, 1])
def test_a_race_for_the_mode_reaches_two_final_states(lag: int) -> None:
    verdict = check(Scenario([ModeFoo(), ModeBar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(faults=0, lag=lag)))
    assert verdict.exhausted
    assert _final(verdict) == {"A-Final", "B-Final"}
    assert len(verdict.final_states) == 2


class Chain(Controller):
    """Increments a counter up to a limit."""

    kind = FOO

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def reconcile(self, request: Request, api: Api) -> None:
        """One step."""
        obj = await api.get(self.kind, request)
        done = int(_state(obj) or 0)
        if done < self.steps:
            obj["status"] = {"state": str(done + 1)}
            await api.status.update(obj)


@pytest.mark.parametrize(
    ("controllers", "steps", "states"),
    [(2, 2, 6), (2, 8, 12), (3, 3, 11), (4, 3, 19), (4, 4, 20), (5, 2, 34), (5, 3, 35)],
)
def test_atomic_reconciles_of_many_instances_visit_each_state_once(controllers: int, steps: int, states: int) -> None:
    """A state is the counter and the set of instances that are enqueued."""
    scenario = Scenario(
        [Chain(steps)],
        crds=[CRD],
        objects=[OBJECT],
        bounds=Bounds(faults=0, lag=0, concurrent=controllers, atomic=True),
        reductions=Reductions(symmetry=False),
    )
    verdict = check(scenario)
    assert verdict.ok
    assert (_final(verdict), verdict.states) == ({str(steps)}, states)


class Toggle(Controller):
    """Becomes the owner if there is none, or if the spec asks for it."""

    kind = FOO

    async def reconcile(self, request: Request, api: Api) -> None:
        """Take the ownership where it is due."""
        obj = await api.get(self.kind, request)
        owner = _state(obj)
        if owner != self.name and (not owner or obj["spec"]["mode"] == self.name):
            obj["status"] = {"state": self.name}
            await api.status.update(obj)


class Alpha(Toggle):
    """The owner that the spec asks for."""

    name = "A"


class Beta(Toggle):
    """The other candidate."""

    name = "B"


@pytest.mark.parametrize("lag", [0, 1])
def test_the_owner_in_the_spec_wins_in_every_order(lag: int) -> None:
    verdict = check(Scenario([Alpha(), Beta()], crds=[CRD], objects=[OBJECT], bounds=Bounds(faults=0, lag=lag)))
    assert verdict.ok
    assert _final(verdict) == {"A"}


@pytest.mark.parametrize("atomic", [True, *([False] if THOROUGH else [])])
def test_a_deployment_reaches_one_final_state(atomic: bool) -> None:
    """One pod is running and ready, in every order of reconciles and of their calls."""
    verdict = check(deployment(Bounds(faults=0, lag=0, atomic=atomic)))
    assert verdict.ok
    (final,) = verdict.final_states
    assert Cluster(state=final).get("Deployment.apps/v1", "web")["status"]["readyReplicas"] == 1


def test_stale_caches_do_not_make_a_second_replica_set() -> None:
    verdict = check(Scenario([Deployments(), ReplicaSets()], objects=[DEPLOYMENT], bounds=Bounds(faults=0, lag=1)))
    assert verdict.ok
    (final,) = verdict.final_states
    assert len(Cluster(state=final).list("ReplicaSet.apps/v1")) == 1
