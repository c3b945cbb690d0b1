"""Sets of states show that nothing is violated where it is so, and only there."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Final

import pytest

from explore.samples import DEPLOYMENT, SIGNED, Fails, Toggles
from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.controllers.workloads.deployment import Deployments
from kontend.explore import BadScenario, Bounds, Reductions, Scenario, Verdict, check, never, patch, sometimes
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.search import breadth_first
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result

CALM: Final = Bounds(faults=0)


class Counts(Controller):
    """Writes the generation that it has seen into the status, with a lock."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Stamp."""
        widget = await api.get(self.kind, request)
        status = widget.get("status") or {}
        if status.get("seen") == widget["spec"].get("size"):
            return None
        base = copy.deepcopy(widget)
        widget["status"] = {"seen": widget["spec"].get("size")}
        await api.status.patch(widget, merge_from(base, lock=True))
        return None


class Looks(Counts):
    """Looks again from time to time."""

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Stamp, and come back."""
        await super().reconcile(request, api)
        return Result(requeue_after=30)


def counted(*controllers: Controller, **others: Any) -> Scenario:
    """A widget whose size a user changes twice."""
    actions = [patch(WIDGET, {"spec": {"size": 2}}), patch(WIDGET, {"spec": {"size": 3}})]
    return replace(Scenario(controllers or [Counts()], crds=[CRD], objects=[WIDGET], actions=actions), **others)


def one_by_one(scenario: Scenario) -> Verdict:
    """Explore without sets of states."""
    return check(replace(scenario, reductions=Reductions(factored=False)))


def prove_after(monkeypatch: pytest.MonkeyPatch, states: int) -> None:
    """Try sets of states after so many states, of a single instance too."""
    for attempts in ("PROVE_AFTER", "PROVE_ALONE_AFTER"):
        monkeypatch.setattr(breadth_first, attempts, ((states, 1_000_000),))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try sets of states from the first state on."""
    prove_after(monkeypatch, 0)


def forms(verdict: Verdict) -> set[bytes]:
    """The canonical forms of the final states."""
    return {canonical_cluster(state) for state in verdict.final_states}


@pytest.mark.parametrize(
    "scenario",
    [
        counted(),
        counted(bounds=Bounds(concurrent=2, faults=0)),
        counted(bounds=Bounds(lag=2, faults=0)),
        counted(bounds=Bounds(lag=0, concurrent=2)),
        counted(bounds=Bounds(atomic=True)),
        counted(Looks(), bounds=CALM),
        Scenario([Deployments()], objects=[DEPLOYMENT], bounds=CALM),
    ],
)
def test_sets_of_states_end_where_single_states_end(scenario: Scenario) -> None:
    plain, sets = one_by_one(scenario), check(scenario)
    assert plain.ok
    assert sets.ok
    assert sets.sets > 0
    assert plain.sets == 0
    assert forms(sets) == forms(plain)
    assert sets.baseline_states == plain.baseline_states
    assert [reached.unperturbed for reached in sets.reached] == [True] * len(sets.final_states)


def test_the_verdict_speaks_of_sets() -> None:
    verdict = check(counted())
    assert str(verdict).startswith(
        f"holds in all states, as {verdict.sets:,} sets of them (lag ≤ 1, 1 instance, faults ≤ 1"
    )
    assert f" one by one, {verdict.sets:,} sets of states, " in str(verdict)
    assert verdict.cut == 0


@pytest.mark.parametrize(
    "scenario",
    [
        SIGNED,
        Scenario([Toggles()], crds=[CRD], objects=[WIDGET], bounds=CALM),
        Scenario([Fails()], crds=[CRD], objects=[WIDGET], bounds=CALM),
        counted(properties=[never(lambda cluster: cluster.get(KIND, "w").get("status", {}).get("seen") == 2)]),
    ],
    ids=["diverged", "never settles", "fails forever", "never"],
)
def test_a_violation_is_found_one_by_one(scenario: Scenario) -> None:
    plain, verdict = one_by_one(scenario), check(scenario)
    assert verdict.violations
    assert verdict.sets == 0
    assert [violation.schedule for violation in verdict.violations] == [
        violation.schedule for violation in plain.violations
    ]


def test_what_holds_in_some_state_may_hold_in_a_set() -> None:
    def is_seen(cluster: Cluster) -> bool:
        return (cluster.get(KIND, "w").get("status") or {}).get("seen") == 3

    verdict = check(counted(properties=[sometimes(is_seen)]))
    assert verdict.sets > 0
    assert verdict.ok
    assert not verdict.untested


def test_an_action_that_is_never_possible_is_refused() -> None:
    missing = {**WIDGET, "metadata": {"name": "missing", "namespace": "default"}}
    with pytest.raises(BadScenario, match="missing"):
        check(counted(actions=[patch(WIDGET, {"spec": {"size": 2}}), patch(missing, {"spec": {"size": 2}})]))


def test_processes_do_not_matter() -> None:
    assert str(check(counted(), jobs=2)).rpartition(",")[0] == str(check(counted())).rpartition(",")[0]


def test_sets_are_tried_after_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = counted(bounds=Bounds(concurrent=2, faults=0))
    prove_after(monkeypatch, 100)
    verdict = check(scenario)
    assert verdict.ok
    assert verdict.sets > 0
    assert 100 <= verdict.states < one_by_one(scenario).states


def test_sets_of_a_single_instance_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(breadth_first, "PROVE_AFTER", ((0, 1_000_000),))
    assert check(counted()).sets == 0
    assert check(counted(bounds=Bounds(concurrent=2, faults=0))).sets > 0
