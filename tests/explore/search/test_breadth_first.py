"""Breadth-first search reports violations, and exhausts spaces without any."""

from __future__ import annotations

import copy
from dataclasses import replace

from explore.samples import Fails, Toggles
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan, planned
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, check, eventually, never, sometimes, update
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards


def test_two_blind_writers_make_two_plans() -> None:
    verdict = check(double_plan(Widgets(), lag=0, concurrent=2))
    assert {violation.property for violation in verdict.violations} == {"one_plan", "lost update"}
    (trace,) = [violation.trace for violation in verdict.violations if violation.property == "one_plan"]
    assert len(trace) == 6
    assert trace[-1] == (
        "widgets#2: patch Widget.example.com/v1 default/w/status, and widgets#1 sees MODIFIED Widget default/w, "
        "and widgets#2 sees MODIFIED Widget default/w"
    )


def test_locked_writers_make_one_plan_in_every_state() -> None:
    verdict = check(double_plan(LockedWidgets(), lag=1, concurrent=2))
    assert verdict.ok
    assert "holds in all" in str(verdict)
    assert len(verdict.final_states) == 1


def test_until_first_stops_when_the_unperturbed_runs_never_settle() -> None:
    scenario = Scenario(
        controllers=[Toggles()],
        crds=[CRD],
        objects=[WIDGET],
        guards=UNGUARDED,
        bounds=Bounds(faults=0, lag=2, concurrent=2),
    )
    first, all_of_them = check(scenario, until_first=True), check(scenario)
    assert [violation.property for violation in first.violations] == ["never settles"]
    assert "never settles" in [violation.property for violation in all_of_them.violations]
    assert first.states < all_of_them.states


def test_until_first_stops_at_the_first_final_state_that_no_unperturbed_run_reaches() -> None:
    class Copies(Controller):
        kind = KIND

        async def reconcile(self, request: Request, api: Api) -> None:
            widget = await api.get(KIND, request)
            if not widget["metadata"].get("labels"):
                metadata = {"generateName": "copy-", "namespace": "default"}
                await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
                base = copy.deepcopy(widget)
                widget["metadata"]["annotations"] = {"copied": "true"}
                widget = await api.patch(widget, merge_from(base))
                widget["metadata"]["labels"] = {"copied": "true"}
                await api.update(widget)

    scenario = Scenario(
        controllers=[Copies()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED, bounds=Bounds(faults=0, lag=2)
    )
    first = check(scenario, until_first=True)
    assert [violation.property for violation in first.violations] == ["diverged"]
    assert first.stopped == "it stops at the first violation"
    (shortest,) = [violation for violation in check(scenario).violations if violation.property == "diverged"]
    assert first.violations[0].perturbations == shortest.perturbations


def test_the_same_scenario_gives_the_same_counts() -> None:
    first, second = (check(double_plan(LockedWidgets(), lag=1, concurrent=2)) for _ in range(2))
    assert (first.states, first.steps) == (second.states, second.steps)


def test_user_code_runs_once_for_each_new_response() -> None:
    scenario = double_plan(Widgets(), lag=1, concurrent=3)
    verdict = check(replace(scenario, actions=[update(WIDGET, spec={"size": 3})]))
    assert verdict.steps > 3_000
    assert verdict.runs < 50


def test_a_stale_cache_alone_makes_two_plans_without_read_your_writes() -> None:
    """The second reconcile of one instance reads the cache before the first one's write is delivered."""
    scenario = double_plan(Widgets(), lag=2)
    touched = Scenario(
        controllers=scenario.controllers,
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}}), update(WIDGET, metadata={"labels": {"a": "2"}})],
        properties=scenario.properties,
        bounds=Bounds(faults=0, lag=2),
        guards=UNGUARDED,
    )
    assert "one_plan" in {violation.property for violation in check(touched).violations}


def test_read_your_writes_prevents_it() -> None:
    touched = Scenario(
        controllers=[Widgets()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}}), update(WIDGET, metadata={"labels": {"a": "2"}})],
        properties=[eventually(planned)],
        bounds=Bounds(faults=0, lag=2),
        guards=Guards(locked_status=False, fencing=False),
    )
    verdict = check(touched)
    assert verdict.exhausted
    assert "lost update" not in {violation.property for violation in verdict.violations}


def test_a_livelock_is_a_set_of_states_that_lead_only_to_each_other() -> None:
    verdict = check(Scenario(controllers=[Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0)))
    assert verdict.exhausted
    assert verdict.final_states == []
    assert [violation.property for violation in verdict.violations] == ["never settles"]


def test_an_error_that_is_retried_forever_is_not_quiescent() -> None:
    verdict = check(Scenario(controllers=[Fails()], crds=[CRD], objects=[WIDGET]))
    assert verdict.final_states == []
    assert [violation.property for violation in verdict.violations] == ["fails forever"]
    assert "RuntimeError: default/w" in verdict.violations[0].sentence


class Counts(Controller):
    """Counts its runs in its memory and in the status."""

    kind = KIND
    memory = ("seen",)
    seen = 0

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count up to two."""
        widget = await api.get(self.kind, request)
        if self.seen < 2:
            self.seen += 1
            base = copy.deepcopy(widget)
            widget["status"] = {"seen": self.seen}
            await api.status.patch(widget, merge_from(base))


def test_declared_memory_is_part_of_the_state() -> None:
    verdict = check(Scenario(controllers=[Counts()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0)))
    (final,) = verdict.final_states
    assert Cluster(state=final).get(KIND, "w")["status"] == {"seen": 2}


def test_a_sometimes_that_never_holds_is_reported() -> None:
    def impossible(cluster: Cluster) -> bool:
        return cluster.get(KIND, "w").get("status") == "impossible"

    scenario = double_plan(LockedWidgets(), lag=0)
    tested = Scenario(
        controllers=scenario.controllers, crds=[CRD], objects=[WIDGET], properties=[sometimes(impossible)]
    )
    verdict = check(tested)
    assert verdict.untested == ["impossible"]
    assert not verdict.ok


def test_never_is_the_opposite_of_always() -> None:
    scenario = double_plan(LockedWidgets(), lag=0)
    tested = Scenario(controllers=scenario.controllers, crds=[CRD], objects=[WIDGET], properties=[never(planned)])
    assert [violation.property for violation in check(tested).violations] == ["planned"]


def test_a_space_that_is_not_exhausted_is_undecided() -> None:
    scenario = double_plan(LockedWidgets(), lag=1, concurrent=2, states=10)
    verdict = check(scenario)
    assert not verdict.exhausted
    assert not verdict.ok
    assert "undecided: the space was not exhausted, because the limit of 10 states was reached" in str(verdict)
    assert 0 < verdict.cut < verdict.states
