"""Explores a scenario under a plan, and compares its final states with those of unperturbed runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kontend.explore.explain.explanation import Origin, explainer
from kontend.explore.model.model import Model
from kontend.explore.planned.model import PlannedModel, planned_scenario
from kontend.explore.planned.plan import Plan
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.search.baseline import SOON, Baseline
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.depth_first import DepthFirst
from kontend.explore.search.walks.walks import Walks
from kontend.explore.verdict import Verdict


def explore_plan(scenario: Scenario, plan: Plan, origin: Origin | None = None) -> Verdict:
    """Explore every run that a plan allows; ``origin`` is the file of the scenario."""
    planned = planned_scenario(scenario, plan)
    calm = replace(scenario, bounds=replace(scenario.bounds, faults=0))
    reference = restarted(calm, lambda model: Baseline(model, most=SOON).run().final_states)

    def searched(model: Model) -> Verdict:
        verdict = _search(model, plan.search, reference).run()
        if verdict.exhausted and isinstance(model, PlannedModel):
            verdict.warnings += model.unused()
        return verdict

    verdict = restarted(planned, searched, lambda changed, knowledge: PlannedModel(changed, plan, knowledge))
    verdict.explain = explainer(planned, origin) if origin is not None else explainer(planned)
    verdict.bounds, verdict.not_tried = _described(plan), ()
    return verdict


def _search(model: Model, options: Any, reference: frozenset[bytes] | None) -> BreadthFirst | DepthFirst | Walks:
    name = options.get("search", "breadth")
    if name == "breadth":
        return BreadthFirst(model, reference=reference)
    if name == "depth":
        return DepthFirst(model)
    if name not in ("random", "pct"):
        raise BadScenario(f"search: {not_among('strategy', str(name), ('breadth', 'depth', 'random', 'pct'))}")
    return Walks(model, strategy=name, seed=int(options.get("seed", 0)), walks=int(options.get("walks", 1_000)))


def _described(plan: Plan) -> str:
    parts = [
        f"{interval.kind} in {interval.reconciler} " + ("frozen" if interval.lag < 0 else f"{interval.lag} behind")
        for interval in plan.stalenessIntervals
    ]
    parts += [f"{fault.reconciler} crashes after {fault.crashAfterEffect} writes" for fault in plan.faultInjection]
    if plan.permuteControllers:
        parts.append(f"orders of {', '.join(plan.permuteControllers)}")
    parts += [f"action {at} at depth {depth}" for at, depth in sorted(plan.userActionReadyDepths.items())]
    return f"only what the plan says: {'; '.join(parts) or 'nothing'}"
