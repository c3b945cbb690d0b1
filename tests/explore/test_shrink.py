"""Stories become shorter, and still show the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from kontend.explore.UNKNOWN import GoodEnds

from explore.test_known_answers import DEPLOYMENT, NODE
from explore.test_search import Toggles
from explore.test_walks import SIGNED
from explore.widgets import CRD, UNGUARDED, WIDGET, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.controllers.nodes.node_agent import Nodes, PodLifecycle
from kontend.controllers.nodes.scheduler import Scheduler
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import Bounds, Scenario, check, never, update
from kontend.explore.model.model import Model
from kontend.explore.model.quiescence import is_quiescent
from kontend.explore.model.step import Step
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.shrink import shrink, shrunk
from kontend.explore.search.walk import Walk
from kontend.runtime.controller import Controller

OTHERS: list[dict[str, Any]] = [{**WIDGET, "metadata": {"name": name, "namespace": "default"}} for name in "abc"]
#: The race of the double plan, among much that has nothing to do with it.
CROWDED = replace(
    double_plan(Widgets(), lag=2, concurrent=2),
    objects=[WIDGET, *OTHERS],
    actions=[update(WIDGET, spec={"size": 1}), update(OTHERS[0], spec={"size": 2})],
)


WEB: dict[str, Any] = {**DEPLOYMENT, "metadata": {"name": "web"}}


def _wandered(engine: Model, name: str, *, good_ends: GoodEnds | None = None) -> tuple[Step, ...]:
    """A long way to a violation."""
    for seed in range(100):
        chance, walk = random.Random(seed), Walk(engine, baseline=good_ends)
        while not is_quiescent(engine, walk.world, moves := engine.steps(walk.world)):
            walk.take(chance.choice(moves))
        walk.end()
        if name in walk.violations:
            return tuple(walk.schedule[: walk.violations[name][1]])
    raise AssertionError(f"no walk violates {name}")


def _walked(engine: Model, choices: tuple[Step, ...], *, good_ends: GoodEnds | None = None) -> Walk:
    """A walk along moves that must all be possible."""
    walk = Walk(engine, baseline=good_ends)
    for move in choices:
        assert move in engine.steps(walk.world)
        walk.take(move)
    walk.end()
    return walk


def test_a_long_story_becomes_as_short_as_the_shortest() -> None:
    engine = Model(CROWDED)
    wandered = _wandered(engine, "one_plan")
    short = shrink(engine, "one_plan", wandered)
    assert len(wandered) > 20
    assert len(short) == 6
    walk = _walked(engine, short)
    assert "one_plan" in walk.violations
    alone = check(double_plan(Widgets(), lag=2, concurrent=2))
    assert walk.cost == min(each.perturbations for each in alone.violations)


def test_a_story_that_is_short_stays_as_it_is() -> None:
    scenario = double_plan(Widgets(), lag=1, concurrent=2)
    for each in check(scenario).violations:
        assert shrink(Model(scenario), each.property, each.schedule) == each.schedule


def test_the_sentence_is_about_the_write_that_is_left() -> None:
    engine = Model(CROWDED)
    told = shrunk(engine, "one_plan", "what was said of the long one", _wandered(engine, "one_plan"))
    assert told.sentence.startswith(f"one_plan is broken by {told.trace[-1]}")
    assert told.how == "shrunk"


def _runs(cluster: Cluster) -> bool:
    return any((pod.get("status") or {}).get("phase") == "Running" for pod in cluster.list("Pod/v1"))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_story_that_needs_no_perturbation_loses_all_of_them(lag: int) -> None:
    """Leaving out one of them at a time does not do it; going on without any does, and nobody is kept waiting."""
    controllers = [Deployments(), ReplicaSets(), Nodes(), Scheduler(), PodLifecycle()]
    bounds, wrong = Bounds(lag=lag), never(_runs, name="wrong")
    engine = Model(Scenario(controllers, objects=[WEB, NODE], properties=[wrong], bounds=bounds))
    wandered = _wandered(engine, "wrong")
    assert _walked(engine, wandered).cost > 5
    walk = _walked(engine, shrink(engine, "wrong", wandered))
    assert (walk.cost, "wrong" in walk.violations) == (0, True)


@pytest.mark.parametrize("others", [[], [Deployments(), ReplicaSets()]])
def test_another_end_is_shown_with_one_perturbation(others: list[Controller]) -> None:
    """Whatever else goes on, and must come to its end."""
    scenario = replace(SIGNED, controllers=[*SIGNED.controllers, *others], objects=[WIDGET, WEB])
    reference = Baseline(scenario).run()
    wandered = _wandered(reference.engine, "diverged", baseline=reference.final_states)
    short = shrink(reference.engine, "diverged", wandered, baseline=reference.final_states)
    walk = _walked(reference.engine, short, baseline=reference.final_states)
    assert (walk.cost, "diverged" in walk.violations) == (1, True)


def test_what_no_walk_can_show_is_kept_by_coming_to_the_same_world() -> None:
    scenario = Scenario([Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=UNGUARDED)
    engine, chance = Model(scenario), random.Random(1)
    walk = Walk(engine)
    for _ in range(50):
        walk.take(chance.choice(engine.steps(walk.world)))
    short = shrink(engine, "never settles", tuple(walk.schedule))
    assert len(short) < 10
    assert engine.key(_walked(engine, short).world) == engine.key(walk.world)
