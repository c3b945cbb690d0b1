"""Random walks are the same for a seed, find bugs that few ordering constraints decide, and prove nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from effort import effort
from explore.samples import DEPLOYMENT, SIGNED, Fails, First, Signs, Toggles
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import BadScenario, Bounds, Scenario, Verdict, always, check, eventually, patch, sometimes
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.snapshot import Snapshot
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

BLIND = double_plan(Widgets(), lag=1, concurrent=2)
LOCKED = double_plan(LockedWidgets(), lag=1, concurrent=2)


def _names(verdict: Verdict) -> set[str]:
    return {violation.property for violation in verdict.violations}


def _without_time(verdict: Verdict) -> tuple[Any, ...]:
    """All of a verdict but the seconds it took."""
    schedules = [violation.schedule for violation in verdict.violations]
    return str(verdict).rpartition(",")[0], verdict.stopped, schedules


# Violations


@pytest.mark.parametrize("seed", range(10))
def test_a_few_pct_walks_find_the_double_plan(seed: int) -> None:
    verdict = check(BLIND, search="pct", seed=seed, walks=10)
    assert _names(verdict) == {"one_plan", "lost update"}


@pytest.mark.parametrize("search", ["random", "pct"])
def test_a_shrunk_trace_is_as_short_as_the_shortest(search: Any) -> None:
    shortest = {
        violation.property: (violation.perturbations, len(violation.trace)) for violation in check(BLIND).violations
    }
    for seed in range(5):
        verdict = check(BLIND, search=search, seed=seed, walks=20)
        assert {
            violation.property: (violation.perturbations, len(violation.trace)) for violation in verdict.violations
        } == shortest
        assert "one_plan: violated after 6 steps (shrunk, " in str(verdict)


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_a_final_state_that_no_unperturbed_run_reaches_is_reported(search: Any) -> None:
    verdict = check(SIGNED, search=search, walks=100)
    assert "diverged" in _names(verdict)
    assert (len(verdict.final_states), verdict.baseline_states) == (4, 2)


def test_final_states_are_not_compared_where_the_baseline_is_not_exhausted() -> None:
    scenario = Scenario(
        [Deployments(), ReplicaSets()],
        objects=[{**DEPLOYMENT, "metadata": {"name": name}} for name in ("one", "two")],
        bounds=Bounds(faults=0, lag=1, states=200),
    )
    verdict = check(scenario, search="random", walks=1)
    assert "diverged" not in _names(verdict)
    assert "diverged: not compared; in the search of the unperturbed runs the limit of 200 states was reached" in str(
        verdict
    )


class Reads(Signs):
    """Signs, and then reads the object several times."""

    name = "second"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Sign and read."""
        await super().reconcile(request, api)
        for _ in (await api.live.get(self.kind, request)).get("status", {}).get("signed", [])[1:] * 5:
            await api.live.get(self.kind, request)


def test_a_part_of_the_unperturbed_runs_is_no_baseline() -> None:
    scenario = replace(SIGNED, controllers=[First(), Reads()])
    whole = Baseline(Model(scenario)).run()
    assert whole.final_states is not None
    assert len(whole.final_states) == 2
    states_of_whole = whole.verdict.states
    for states in {*range(1, states_of_whole - 1, effort(7, 1)), states_of_whole - 2}:
        part = Baseline(Model(replace(scenario, bounds=Bounds(faults=0, lag=0, states=states)))).run()
        assert (part.final_states, part.verdict.exhausted) == (None, False)


def _is_empty(cluster: Cluster) -> bool:
    return not cluster.get(KIND, "w").get("status")


@pytest.mark.parametrize("search", ["random", "pct"])
def test_a_violation_by_an_unperturbed_run_is_reported_even_if_no_walk_is_one(search: Any) -> None:
    scenario = Scenario([Widgets()], crds=[CRD], objects=[WIDGET], properties=[always(_is_empty)], guards=UNGUARDED)
    verdict = check(scenario, search=search, walks=1, until_first=True)
    assert _names(verdict) == {"_is_empty"}
    assert verdict.steps == 0


def test_a_controller_that_only_looks_again_has_settled() -> None:
    class Looks(Widgets):
        """Makes one plan, and asks to run again forever."""

        async def reconcile(self, request: Request, api: Api) -> Result:  # type: ignore[override]
            """Make a plan, and run again."""
            await super().reconcile(request, api)
            return Result(requeue_after=60)

    properties, bounds = [eventually(_is_empty)], Bounds(faults=0, lag=0)
    scenario = Scenario([Looks()], crds=[CRD], objects=[WIDGET], properties=properties, bounds=bounds)
    searched, walked = check(scenario), check(scenario, search="random", walks=10)
    assert _names(searched) == _names(walked) == {"_is_empty"}
    assert list(map(canonical_cluster, walked.final_states)) == list(map(canonical_cluster, searched.final_states))
    assert walked.cut == 0


# No proof


@pytest.mark.parametrize("search", ["random", "pct"])
@pytest.mark.parametrize("controller", [Toggles, Fails])
def test_a_walk_in_circles_is_cut_off_and_proves_nothing(search: Any, controller: type[Controller]) -> None:
    scenario = Scenario([controller()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0))
    verdict = check(scenario, search=search, walks=3)
    assert (verdict.violations, verdict.final_states, verdict.cut, verdict.steps) == ([], [], 3, 3_000)
    assert "(3 walks cut off)" in str(verdict)


class Waits(Controller):
    """Fails until there is a plan."""

    kind = KIND
    name = "waits"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Fail unless there is a plan."""
        widget = await api.get(self.kind, request)
        if not (widget.get("status") or {}).get("plan"):
            raise RuntimeError("no plan yet")


def test_a_controller_that_retries_forever_does_not_starve_the_others() -> None:
    scenario = Scenario([Waits(), LockedWidgets()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED)
    verdict = check(scenario, search="pct", walks=50)
    assert verdict.cut == 0
    assert len(verdict.final_states) == 1


@pytest.mark.parametrize(("search", "name"), [("random", "random"), ("pct", "PCT")])
def test_walks_without_a_violation_are_undecided(search: Any, name: str) -> None:
    verdict = check(double_plan(LockedWidgets(), lag=0, concurrent=2), search=search, seed=7, walks=1_100)
    assert (verdict.ok, verdict.exhausted) == (False, False)
    assert verdict.stopped == f"1,100 {name} walks (seed 7) were made, not all there are"
    assert f"nothing found in 1,100 {name} walks (seed 7); that proves nothing\n" in str(verdict)
    assert "holds" not in str(verdict)


def test_a_sometimes_that_no_walk_met_is_untested() -> None:
    def planned(cluster: Cluster) -> bool:
        return not _is_empty(cluster)

    def impossible(cluster: Cluster) -> bool:
        return cluster.get(KIND, "w").get("status") == "impossible"

    properties = [sometimes(planned), sometimes(impossible)]
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], properties=properties)
    verdict = check(scenario, search="random", walks=5)
    assert (verdict.untested, verdict.violations) == (["impossible"], [])


class CreatesAndDeletes(Controller):
    """Creates an object and deletes it."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create, then delete."""
        metadata = {"name": "c", "namespace": request.namespace}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await api.delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_an_action_that_is_possible_only_in_the_middle_of_a_reconcile_is_no_mistake(search: Any) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    action = patch(config, {"data": {"a": "1"}})
    scenario = Scenario([CreatesAndDeletes()], crds=[CRD], objects=[WIDGET], actions=[action], guards=UNGUARDED)
    assert check(scenario, search=search, walks=10).states


# Determinism


@pytest.mark.parametrize("search", ["random", "pct"])
def test_one_seed_gives_one_verdict_and_seeds_differ(search: Any) -> None:
    verdicts = [_without_time(check(BLIND, search=search, seed=seed, walks=5)) for seed in (*range(5), *range(5))]
    assert verdicts[:5] == verdicts[5:]
    assert len({verdict[0] for verdict in verdicts}) > 1


def test_walks_do_not_depend_on_the_hash_seed() -> None:
    """Sets of text are iterated in another order for each hash seed, as on another machine."""
    code = (
        "from explore.samples import SIGNED\n"
        "from explore.widgets import Widgets, double_plan\n"
        "from kontend.explore import check\n"
        "for scenario in (double_plan(Widgets(), lag=1, concurrent=2), SIGNED):\n"
        "    for search in ('random', 'pct'):\n"
        "        verdict = check(scenario, search=search, seed=3, walks=20)\n"
        "        print(str(verdict).rpartition(',')[0], [violation.schedule for violation in verdict.violations])\n"
    )
    printed = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        printed.add(run.stdout)
    assert len(printed) == 1
    assert "diverged" in printed.pop()


# Limits


@pytest.mark.parametrize(
    ("bounds", "limit"),
    [
        (Bounds(faults=0, lag=1, concurrent=2, states=20), "the limit of 20 states was reached"),
        (Bounds(faults=0, lag=1, concurrent=2, steps=300), "the limit of 300 steps was reached"),
        (Bounds(faults=0, lag=1, concurrent=2, memory=1), "the limit of 1 MiB of memory was reached"),
        (Bounds(faults=0, lag=1, concurrent=2, seconds=1), "the limit of 1 seconds was reached"),
    ],
)
def test_limits_stop_walks(bounds: Bounds, limit: str) -> None:
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED)
    verdict = check(scenario, search="random", walks=1_000_000)
    assert verdict.stopped == limit
    assert f"random walks (seed 0), until {limit}; that proves nothing" in str(verdict)


@pytest.mark.parametrize("search", ["random", "pct"])
def test_violations_before_an_interruption_are_reported(search: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kontend.explore.search.walks.walks.OFTEN", 500)

    def interrupt(snapshot: Snapshot) -> None:
        assert (snapshot.states > 0, snapshot.steps > 0) == (True, True)
        raise KeyboardInterrupt

    verdict = check(BLIND, search=search, walks=1_000_000, progress=interrupt)
    assert verdict.stopped == "it was interrupted"
    assert _names(verdict) == {"one_plan", "lost update"}
    assert verdict.steps == 500


def test_walks_can_stop_at_the_first_violation() -> None:
    verdict = check(BLIND, search="random", walks=1_000_000, until_first=True)
    assert verdict.stopped == "it stops at the first violation"
    assert verdict.violations


# Usage errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "deep"}, "check: no search is called deep .*there are: breadth, depth, random, pct"),
        ({"walks": 0}, r"check\(walks=0\): expected a whole number, at least 1"),
        ({"seed": -1}, r"check\(seed=-1\): expected a whole number, at least 0"),
        ({"seed": "7"}, r"check\(seed='7'\): expected a whole number, at least 0"),
        ({"jobs": 0}, r"check\(jobs=0\): expected a whole number, at least 1"),
        ({"jobs": 2, "search": "pct"}, r"jobs=2: only search='breadth' runs in several processes, found 'pct'"),
    ],
)
def test_options_that_do_not_exist_are_refused_with_the_line(options: Any, message: str) -> None:
    with pytest.raises(BadScenario, match=rf"test_walks\.py:\d+: {message}"):
        check(BLIND, **options)
