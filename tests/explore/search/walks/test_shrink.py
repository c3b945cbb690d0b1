"""Counterexamples are shrunk to simple ones that violate the same property."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from explore.samples import DEPLOYMENT, NODE, SIGNED, Toggles
from explore.widgets import CRD, UNGUARDED, WIDGET, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.controllers.nodes.node_agent import Nodes, PodLifecycle
from kontend.controllers.nodes.scheduler import Scheduler
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import Bounds, Scenario, check, never, update
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.step import Step
from kontend.explore.program.symbols import Assumption
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.walks.shrink import shrink, shrunk
from kontend.explore.search.walks.walk import Walk
from kontend.runtime.controller import Controller

OTHERS: list[dict[str, Any]] = [{**WIDGET, "metadata": {"name": name, "namespace": "default"}} for name in "abc"]
#: The double-plan race, among many steps that do not contribute to it.
CROWDED = replace(
    double_plan(Widgets(), lag=2, concurrent=2),
    objects=[WIDGET, *OTHERS],
    actions=[update(WIDGET, spec={"size": 1}), update(OTHERS[0], spec={"size": 2})],
)
WEB: dict[str, Any] = {**DEPLOYMENT, "metadata": {"name": "web"}}


def _random_schedule(model: Model, name: str, *, baseline: frozenset[bytes] | None = None) -> tuple[Step, ...]:
    """A long schedule that violates a property."""
    for seed in range(100):
        generator, walk = random.Random(seed), Walk(model, baseline=baseline)
        while not is_quiescent(model, walk.world, steps := model.steps(walk.world)):
            walk.take(generator.choice(steps))
        walk.end()
        if name in walk.violations:
            return tuple(walk.schedule[: walk.violations[name][1]])
    raise AssertionError(f"no walk violates {name}")


def _timed(scenario: Scenario) -> Model:
    """The model of controllers that ask for the time and set timers."""
    knowledge = Model(scenario).knowledge
    knowledge.refute(Assumption.TIMELESS)
    return Model(scenario, knowledge)


def _walked(model: Model, schedule: tuple[Step, ...], *, baseline: frozenset[bytes] | None = None) -> Walk:
    """A walk along steps that must all be enabled."""
    walk = Walk(model, baseline=baseline)
    for step in schedule:
        assert step in model.steps(walk.world)
        walk.take(step)
    walk.end()
    return walk


def test_a_long_schedule_becomes_as_short_as_the_shortest() -> None:
    model = Model(CROWDED)
    schedule = _random_schedule(model, "one_plan")
    short = shrink(model, "one_plan", schedule)
    assert len(schedule) > 20
    assert len(short) == 6
    walk = _walked(model, short)
    assert "one_plan" in walk.violations
    alone = check(double_plan(Widgets(), lag=2, concurrent=2))
    assert walk.cost == min(violation.perturbations for violation in alone.violations)


def test_a_shortest_schedule_stays_as_it_is() -> None:
    scenario = double_plan(Widgets(), lag=1, concurrent=2)
    for violation in check(scenario).violations:
        assert shrink(Model(scenario), violation.property, violation.schedule) == violation.schedule


def test_the_sentence_describes_the_write_that_is_left() -> None:
    model = Model(CROWDED)
    violation = shrunk(model, "one_plan", "the sentence of the long one", _random_schedule(model, "one_plan"))
    assert violation.sentence.startswith(f"one_plan is broken by {violation.trace[-1]}")
    assert violation.how == "shrunk"


def _runs(cluster: Cluster) -> bool:
    return any((pod.get("status") or {}).get("phase") == "Running" for pod in cluster.list("Pod/v1"))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_violation_that_needs_no_perturbation_is_shown_without_any(lag: int) -> None:
    """Leaving out one perturbation at a time does not suffice; running the rest unperturbed does."""
    controllers = [Deployments(), ReplicaSets(), Nodes(), Scheduler(), PodLifecycle()]
    bounds, wrong = Bounds(faults=0, lag=lag), never(_runs, name="wrong")
    model = _timed(Scenario(controllers, objects=[WEB, NODE], properties=[wrong], bounds=bounds))
    schedule = _random_schedule(model, "wrong")
    assert _walked(model, schedule).cost > 5
    walk = _walked(model, shrink(model, "wrong", schedule))
    assert (walk.cost, "wrong" in walk.violations) == (0, True)


@pytest.mark.parametrize("others", [[], [Deployments(), ReplicaSets()]])
def test_a_diverged_state_is_shown_with_one_perturbation(others: list[Controller]) -> None:
    scenario = replace(SIGNED, controllers=[*SIGNED.controllers, *others], objects=[WIDGET, WEB])
    model = _timed(scenario)
    baseline = Baseline(model).run().final_states
    schedule = _random_schedule(model, "diverged", baseline=baseline)
    short = shrink(model, "diverged", schedule, baseline=baseline)
    walk = _walked(model, short, baseline=baseline)
    assert (walk.cost, "diverged" in walk.violations) == (1, True)


def test_a_violation_that_no_walk_shows_is_kept_by_reaching_the_same_state() -> None:
    scenario = Scenario([Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)
    model, generator = Model(scenario), random.Random(1)
    walk = Walk(model)
    for _ in range(50):
        walk.take(generator.choice(model.steps(walk.world)))
    short = shrink(model, "never settles", tuple(walk.schedule))
    assert len(short) < 10
    assert model.key(_walked(model, short).world) == model.key(walk.world)
