"""Scenarios whose answers are known: the number of ways in which two controllers can settle."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from definitions import definition
from kontend import Api, Cluster, Controller, Request
from kontend.controllers.nodes.node_agent import Nodes, PodLifecycle
from kontend.controllers.nodes.scheduler import Scheduler
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
    """Moves the state on, by a table for each mode."""

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
    """The first of two that do the same."""


class Bar(Steps):
    """The second."""


class ModeFoo(Steps):
    """Three steps, in one of two modes."""

    name = "foo"
    table: ClassVar = {
        "A": {"": "A-1", "B-1": "A-1", "A-1": "A-2", "A-2": "A-Final"},
        "B": {"": "B-1", "A-1": "B-1", "B-1": "B-2", "B-2": "B-Final"},
    }


class ModeBar(Controller):
    """Flips the mode once, if it comes early enough, and else helps to finish."""

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


def _ends(verdict: Verdict) -> set[str]:
    return {_state(Cluster(state=state).get(FOO, "foo")) for state in verdict.final_states}


@pytest.mark.parametrize("lag", [0, 1])
def test_two_controllers_that_do_the_same_settle_in_one_way(lag: int) -> None:
    verdict = check(Scenario([Foo(), Bar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=lag)))
    assert verdict.ok
    assert _ends(verdict) == {"A-Final"}


@pytest.mark.parametrize("lag", [0, 1])
def test_a_race_for_the_mode_can_settle_in_two_ways(lag: int) -> None:
    verdict = check(Scenario([ModeFoo(), ModeBar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=lag)))
    assert verdict.exhausted
    assert _ends(verdict) == {"A-Final", "B-Final"}
    assert len(verdict.final_states) == 2


class Chain(Controller):
    """Moves a counter on, step by step."""

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
    ("controllers", "steps", "worlds"),
    [(2, 2, 6), (2, 8, 12), (3, 3, 11), (4, 3, 19), (4, 4, 20), (5, 2, 34), (5, 3, 35)],
)
def test_whole_reconciles_of_many_controllers_visit_each_world_once(controllers: int, steps: int, worlds: int) -> None:
    """The counter and the set of those who will look at it again: so many pairs there are."""
    scenario = Scenario(
        [Chain(steps)],
        crds=[CRD],
        objects=[OBJECT],
        bounds=Bounds(lag=0, concurrent=controllers, atomic=True),
        reductions=Reductions(symmetry=False),
    )
    verdict = check(scenario)
    assert verdict.ok
    assert (_ends(verdict), verdict.states) == ({str(steps)}, worlds)


class Toggle(Controller):
    """Wants to be the owner: if nobody is, or if it should be."""

    kind = FOO

    async def reconcile(self, request: Request, api: Api) -> None:
        """Take it, or leave it."""
        obj = await api.get(self.kind, request)
        owner = _state(obj)
        if owner != self.name and (not owner or obj["spec"]["mode"] == self.name):
            obj["status"] = {"state": self.name}
            await api.status.update(obj)


class Alpha(Toggle):
    """The one that is wanted."""

    name = "A"


class Beta(Toggle):
    """The other one."""

    name = "B"


@pytest.mark.parametrize("lag", [0, 1])
def test_whoever_comes_first_the_wanted_owner_stays(lag: int) -> None:
    verdict = check(Scenario([Alpha(), Beta()], crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=lag)))
    assert verdict.ok
    assert _ends(verdict) == {"A"}


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
    },
}


def deployment(bounds: Bounds) -> Scenario:
    """A Deployment and a node, with the controllers of Kubernetes that bring it to run."""
    controllers = [Deployments(), ReplicaSets(), Nodes(), Scheduler(), PodLifecycle()]
    return Scenario(controllers, objects=[DEPLOYMENT, NODE], bounds=bounds)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_plain_deployment_settles_in_one_way(atomic: bool) -> None:
    """One pod, running and ready, in every order of reconciles, and in every order of their calls."""
    verdict = check(deployment(Bounds(lag=0, atomic=atomic)))
    assert verdict.ok
    (end,) = verdict.final_states
    assert Cluster(state=end).get("Deployment.apps/v1", "web")["status"]["readyReplicas"] == 1


def test_stale_caches_do_not_make_a_second_replica_set() -> None:
    """Call by call, and with caches that lag."""
    verdict = check(Scenario([Deployments(), ReplicaSets()], objects=[DEPLOYMENT], bounds=Bounds(lag=1)))
    assert verdict.ok
    (end,) = verdict.final_states
    assert len(Cluster(state=end).list("ReplicaSet.apps/v1")) == 1
