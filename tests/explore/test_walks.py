"""Walks by chance: the same for a seed, quick to find what few orders decide, and careful with what they say."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from explore.programs import scenarios
from explore.test_known_answers import DEPLOYMENT
from explore.test_search import Fails, Toggles
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import (
    BadScenario,
    Bounds,
    Reductions,
    Scenario,
    Verdict,
    always,
    check,
    eventually,
    patch,
    sometimes,
)
from kontend.explore.model.canonical import canonical_cluster
from kontend.explore.search.baseline import Baseline
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result

BLIND = double_plan(Widgets(), lag=1, concurrent=2)
LOCKED = double_plan(LockedWidgets(), lag=1, concurrent=2)


def _names(verdict: Verdict) -> set[str]:
    return {each.property for each in verdict.violations}


def _said(verdict: Verdict) -> tuple[Any, ...]:
    """All of a verdict but how long it took."""
    return str(verdict).rpartition(",")[0], verdict.stopped, [each.schedule for each in verdict.violations]


# What is found


@pytest.mark.parametrize("seed", range(10))
def test_a_few_walks_by_priorities_find_the_double_plan(seed: int) -> None:
    verdict = check(BLIND, search="pct", seed=seed, walks=10)
    assert _names(verdict) == {"one_plan", "lost update"}


@pytest.mark.parametrize("search", ["random", "pct"])
def test_a_story_from_a_walk_is_as_short_as_the_shortest(search: Any) -> None:
    shortest = {each.property: (each.perturbations, len(each.trace)) for each in check(BLIND).violations}
    for seed in range(5):
        verdict = check(BLIND, search=search, seed=seed, walks=20)
        assert {each.property: (each.perturbations, len(each.trace)) for each in verdict.violations} == shortest
        assert "one_plan: violated after 6 moves (shrunk)\n" in str(verdict)


class Signs(Controller):
    """Adds its name to a list, once and for all, without a lock."""

    kind = KIND
    memory = ("signed",)
    signed = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Sign."""
        if not self.signed:
            self.signed = True
            widget = await api.get(self.kind, request)
            base = copy.deepcopy(widget)
            signed = (widget.get("status") or {}).get("signed") or []
            widget["status"] = {"signed": [*signed, self.name]}
            await api.status.patch(widget, merge_from(base))


class First(Signs):
    """The one."""


class Second(Signs):
    """The other."""


SIGNED = Scenario([First(), Second()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=UNGUARDED)


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_an_end_that_no_undisturbed_run_comes_to_is_found(search: Any) -> None:
    verdict = check(SIGNED, search=search, walks=100)
    assert "diverged" in _names(verdict)
    assert (len(verdict.final_states), verdict.baseline_states) == (4, 2)


def test_ends_are_not_compared_when_the_undisturbed_runs_are_too_many() -> None:
    scenario = Scenario(
        [Deployments(), ReplicaSets()],
        objects=[{**DEPLOYMENT, "metadata": {"name": name}} for name in ("one", "two")],
        bounds=Bounds(lag=1, states=200),
    )
    verdict = check(scenario, search="random", walks=1)
    assert "diverged" not in _names(verdict)
    assert "same end: not compared; of the undisturbed runs alone, the limit of 200 worlds was reached" in str(verdict)


class Reads(Signs):
    """Signs, and reads what others have signed, which takes its time."""

    name = "second"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Sign and read."""
        await super().reconcile(request, api)
        for _ in (await api.live.get(self.kind, request)).get("status", {}).get("signed", [])[1:] * 5:
            await api.live.get(self.kind, request)


def test_a_part_of_the_undisturbed_runs_does_not_tell_what_they_end_in() -> None:
    scenario = replace(SIGNED, controllers=[First(), Reads()])
    whole = Baseline(scenario).run()
    assert whole.final_states is not None
    assert len(whole.final_states) == 2
    for worlds in range(1, whole.verdict.states - 1):
        part = Baseline(replace(scenario, bounds=Bounds(lag=0, states=worlds))).run()
        assert (part.final_states, part.verdict.exhausted) == (None, False)


def _is_empty(cluster: Cluster) -> bool:
    return not cluster.get(KIND, "w").get("status")


@pytest.mark.parametrize("search", ["random", "pct"])
def test_what_is_wrong_with_an_undisturbed_run_is_told_even_if_no_walk_is_one(search: Any) -> None:
    scenario = Scenario([Widgets()], crds=[CRD], objects=[WIDGET], properties=[always(_is_empty)], guards=UNGUARDED)
    verdict = check(scenario, search=search, walks=1, until_first=True)
    assert _names(verdict) == {"_is_empty"}
    assert verdict.steps == 0


def test_a_run_that_only_looks_again_has_settled() -> None:
    class Looks(Widgets):
        """Makes one plan, and comes back for ever."""

        async def reconcile(self, request: Request, api: Api) -> Result:  # type: ignore[override]
            """The same, and again."""
            await super().reconcile(request, api)
            return Result(requeue_after=60)

    properties, bounds = [eventually(_is_empty)], Bounds(lag=0)
    scenario = Scenario([Looks()], crds=[CRD], objects=[WIDGET], properties=properties, bounds=bounds)
    searched, walked = check(scenario), check(scenario, search="random", walks=10)
    assert _names(searched) == _names(walked) == {"_is_empty"}
    assert [canonical_cluster(state) for state in walked.final_states] == [canonical_cluster(state) for state in searched.final_states]
    assert walked.cut == 0


# What is not said


@pytest.mark.parametrize("search", ["random", "pct"])
@pytest.mark.parametrize("controller", [Toggles, Fails])
def test_a_walk_that_goes_in_circles_is_cut_off_and_proves_nothing(search: Any, controller: type[Controller]) -> None:
    scenario = Scenario([controller()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0))
    verdict = check(scenario, search=search, walks=3)
    assert (verdict.violations, verdict.final_states, verdict.cut, verdict.steps) == ([], [], 3, 3_000)
    assert "(3 walks cut off)" in str(verdict)


class Waits(Controller):
    """Fails until somebody else has done something."""

    kind = KIND
    name = "waits"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Wait for a plan."""
        widget = await api.get(self.kind, request)
        if not (widget.get("status") or {}).get("plan"):
            raise RuntimeError("no plan yet")


def test_one_that_tries_again_and_again_does_not_keep_the_others_waiting() -> None:
    scenario = Scenario([Waits(), LockedWidgets()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED)
    verdict = check(scenario, search="pct", walks=50)
    assert verdict.cut == 0
    assert len(verdict.final_states) == 1


@pytest.mark.parametrize(("search", "name"), [("random", "random"), ("pct", "PCT")])
def test_walks_that_find_nothing_prove_nothing_and_say_so(search: Any, name: str) -> None:
    verdict = check(LOCKED, search=search, seed=7, walks=1_100)
    assert (verdict.ok, verdict.exhausted) == (False, False)
    assert verdict.stopped == f"1,100 {name} walks (seed 7) were made, not all there are"
    assert f"nothing found in 1,100 {name} walks (seed 7); that proves nothing\n" in str(verdict)
    assert "holds" not in str(verdict)


def test_what_no_walk_met_was_not_put_to_the_test() -> None:
    def planned(cluster: Cluster) -> bool:
        return not _is_empty(cluster)

    def never_so(cluster: Cluster) -> bool:
        return cluster.get(KIND, "w").get("status") == "so"

    properties = [sometimes(planned), sometimes(never_so)]
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], properties=properties)
    verdict = check(scenario, search="random", walks=5)
    assert (verdict.untested, verdict.violations) == (["never_so"], [])


class Passes(Controller):
    """Makes something and takes it away."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Here and gone."""
        metadata = {"name": "c", "namespace": request.namespace}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await api.delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_an_action_that_can_be_taken_only_in_the_middle_is_no_mistake(search: Any) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    action = patch(config, {"data": {"a": "1"}})
    scenario = Scenario([Passes()], crds=[CRD], objects=[WIDGET], actions=[action], guards=UNGUARDED)
    assert check(scenario, search=search, walks=10).states


# The same for a seed


@pytest.mark.parametrize("search", ["random", "pct"])
def test_one_seed_gives_the_same_verdict_and_others_differ(search: Any) -> None:
    said = [_said(check(BLIND, search=search, seed=seed, walks=5)) for seed in (*range(5), *range(5))]
    assert said[:5] == said[5:]
    assert len({each[0] for each in said}) > 1


def test_no_machine_walks_otherwise() -> None:
    """Sets of text are iterated in another order for each seed of hashes, as on another machine."""
    code = (
        "from explore.test_walks import BLIND, SIGNED\n"
        "from kontend.explore.check import check\n"
        "for scenario in (BLIND, SIGNED):\n"
        "    for search in ('random', 'pct'):\n"
        "        verdict = check(scenario, search=search, seed=3, walks=20)\n"
        "        print(str(verdict).rpartition(',')[0], [each.schedule for each in verdict.violations])\n"
    )
    said = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        said.add(run.stdout)
    assert len(said) == 1
    assert "diverged" in said.pop()


# Where it stops


@pytest.mark.parametrize(
    ("bounds", "limit"),
    [
        (Bounds(lag=1, concurrent=2, states=20), "the limit of 20 worlds was reached"),
        (Bounds(lag=1, concurrent=2, steps=300), "the limit of 300 moves was reached"),
        (Bounds(lag=1, concurrent=2, memory=1), "the limit of 1 MiB of memory was reached"),
        (Bounds(lag=1, concurrent=2, seconds=1), "the limit of 1 seconds was reached"),
    ],
)
def test_the_limits_hold_for_walks(bounds: Bounds, limit: str) -> None:
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED)
    verdict = check(scenario, search="random", walks=1_000_000)
    assert verdict.stopped == limit
    assert f"random walks (seed 0), until {limit}; that proves nothing" in str(verdict)


@pytest.mark.parametrize("search", ["random", "pct"])
def test_what_was_found_before_an_interruption_is_told(search: Any) -> None:
    def interrupt(worlds: int, moves: int) -> None:
        assert (worlds > 0, moves > 0) == (True, True)
        raise KeyboardInterrupt

    verdict = check(BLIND, search=search, walks=1_000_000, progress=interrupt)
    assert verdict.stopped == "it was interrupted"
    assert _names(verdict) == {"one_plan", "lost update"}
    assert verdict.steps == 500


def test_it_can_stop_at_the_first_violation() -> None:
    verdict = check(BLIND, search="random", walks=1_000_000, until_first=True)
    assert verdict.stopped == "something is violated"
    assert verdict.violations


# Wrong use


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "deep"}, "check: no search is called deep .*there are: breadth, depth, random, pct"),
        ({"walks": 0}, r"check\(walks=0\): expected a whole number, at least 1"),
        ({"seed": -1}, r"check\(seed=-1\): expected a whole number, at least 0"),
        ({"seed": "7"}, r"check\(seed='7'\): expected a whole number, at least 0"),
    ],
)
def test_a_search_that_there_is_not_is_refused_with_the_line(options: Any, message: str) -> None:
    with pytest.raises(BadScenario, match=rf"test_walks\.py:\d+: {message}"):
        check(BLIND, **options)


# Depth first


def _same_depth_first(scenario: Scenario) -> Verdict:
    breadth, depth = check(scenario), check(scenario, search="depth")
    assert (breadth.exhausted, depth.exhausted) == (True, True)
    assert {canonical_cluster(state) for state in depth.final_states} == {canonical_cluster(state) for state in breadth.final_states}
    assert _names(depth) == _names(breadth)
    assert depth.untested == breadth.untested
    return depth


@settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_depth_first_comes_to_the_same(scenario: Scenario) -> None:
    # One that makes and deletes something for ever has no end of worlds.
    scenario = replace(scenario, bounds=replace(scenario.bounds, states=2_000))
    assume(check(scenario).exhausted)
    _same_depth_first(scenario)
    # Persistent sets leave the undisturbed runs alone, and only breadth first knows which those are.
    unreduced = replace(scenario, reductions=Reductions(persistent=False))
    searched = check(unreduced)
    assume(searched.exhausted)
    assert _same_depth_first(unreduced).states == searched.states


@pytest.mark.parametrize("controller", [Widgets, LockedWidgets, Toggles, Fails])
def test_depth_first_comes_to_the_same_with_three_instances(controller: type[Controller]) -> None:
    scenario = double_plan(controller(), lag=1, concurrent=3)
    depth = _same_depth_first(scenario)
    assert depth.states == check(scenario).states
    assert all("(shrunk)" in str(each) for each in depth.violations)


def test_depth_first_stories_of_what_never_settles_are_shrunk_too() -> None:
    scenario = Scenario([Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, concurrent=2), guards=UNGUARDED)
    shortest, shrunk = (
        next(each for each in check(scenario, search=search).violations if each.property == "never settles")
        for search in ("breadth", "depth")
    )
    assert len(shrunk.trace) <= len(shortest.trace) + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, r"check\(jobs=0\): expected a whole number, at least 1"),
        ({"jobs": 2, "search": "pct"}, r"jobs=2: only search='breadth' can be shared out, found 'pct'"),
    ],
)
def test_jobs_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        check(BLIND, **options)
