"""Follows a recorded schedule, and finds out whether its property is still violated.

Code changes between the recording and now. Steps that are not enabled any more are left out, and the others are taken:
a small change elsewhere must not hide a bug. Where the property holds, the first step that went otherwise says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kontend.explore.explain.exchanges import Exchange, exchange_of, main_part
from kontend.explore.explain.trail import parts_of
from kontend.explore.model.model import Model
from kontend.explore.model.settling.restless import MOST_WRITES, restless
from kontend.explore.model.state.budget import SPENT
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.properties.built_in import BuiltIn, diverged
from kontend.explore.properties.leaks import leaks_in
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.walks.walk import Walk
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.verdict import Verdict
from kontend.report.document import Step as RecordedStep

#: Properties that concern everything that can happen from a state on.
_NEVER_END: Final = (BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER)
#: Further steps of a run that has left its schedule and must settle to be judged.
_SETTLING: Final = 500
_DELIVERIES: Final = ("deliver", "relist")


@dataclass(frozen=True, slots=True)
class Followed:
    """The result of following a schedule."""

    #: The violations along the schedule.
    verdict: Verdict
    reproduced: bool
    #: The first step that went otherwise than recorded; empty where none did.
    changed: str = ""
    #: Why the property is not known to be violated; empty where it is.
    why: str = ""
    #: A search that would tell stopped at a limit.
    undecided: bool = False


def followed(model: Model, name: str, schedule: Sequence[Step], recorded: Sequence[RecordedStep] = ()) -> Followed:
    """Follow a schedule that violated the property ``name``; ``recorded`` are the steps of its trace, if known."""
    scenario = model.scenario
    if name not in scenario.property_names():
        raise BadScenario(not_among("property", name, scenario.property_names()), scenario.line)
    baseline = Baseline(model).run().final_states if name == BuiltIn.DIVERGED else None
    walk = Walk(model, baseline=baseline)
    states = {model.key(walk.world)}
    changed = ""
    for number, step in enumerate(schedule, 1):
        before = recorded[number - 1] if number <= len(recorded) else None
        if step not in model.steps(walk.world):
            text = described(model, step) if before is None else before.text
            changed = changed or f"step {number} ({text}) does not happen any more"
            continue
        world, transition = walk.world, walk.take(step)
        states.add(model.key(walk.world))
        if before is not None and transition.text != before.text:
            exchange = exchange_of(main_part(parts_of(world, transition)))
            changed = changed or _difference(before, exchange, transition.text)
    walk.end()
    if changed and name not in walk.violations and name not in _NEVER_END:
        walk.settle(_SETTLING, until=name)
    steps = tuple(walk.schedule)
    violations = {violated: (sentence, steps[:length]) for violated, (sentence, length) in walk.violations.items()}
    why, undecided = "", False
    if name not in violations:
        sentence, why, undecided = _concerning_the_rest(model, name, walk, baseline)
        if sentence:
            violations[name] = (sentence, steps)
        elif not undecided:
            why = changed or f"all {len(schedule)} steps happen, but {why}"
    verdict = Verdict(
        bounds=str(scenario.within_guards().bounds),
        guards=scenario.guards.on,
        stopped="it only followed a recorded schedule",
    )
    verdict.states, verdict.steps = len(states), len(walk.schedule)
    verdict.runs = sum(program.runs for program in set(model.programs))
    if name in violations:  # otherwise it is another run, and nothing is said about it
        verdict.violations = [
            counterexample(model, violated, sentence, way, how="given")
            for violated, (sentence, way) in violations.items()
        ]
    return Followed(verdict, name in violations, changed, why, undecided)


def _difference(before: RecordedStep, now: Exchange, text: str) -> str:
    """Describe a step that went otherwise: only the response differs, or all of it."""
    if now.call is not None and now.call == before.call and now.response != before.response:
        if now.succeeded:
            return f"step {before.number} now succeeds, without {before.response}"
        return f"step {before.number} now gets {now.response}"
    return f"step {before.number} is now {text!r}, not {before.text!r}"


class _Later(Model):
    """A model that starts after some steps."""

    def __init__(self, model: Model, schedule: Sequence[Step]) -> None:
        super().__init__(model.scenario, model.knowledge)
        self._schedule = schedule

    def initial(self) -> World:
        """The state after the steps. No fault comes any more: what settles is judged as it is without one."""
        world = super().initial()
        for step in self._schedule:
            world = self.next(world, step).world
        return world.with_budget(SPENT)


def _concerning_the_rest(
    model: Model, name: str, walk: Walk, baseline: frozenset[bytes] | None
) -> tuple[str, str, bool]:
    """The sentence for a violation by everything that can happen after a walk, which only a search can tell.

    Where there is none it is empty, and the second text says why; the last value says that the search stopped.
    """
    violated = sorted(walk.violations)
    others = f"they violate {', '.join(violated)}" if violated else "nothing is violated"
    settling = {prop.name for prop in model.scenario.properties if prop.mode == "eventually"}
    if name in {*_NEVER_END, *settling, BuiltIn.DIVERGED, BuiltIn.LEAK}:
        search = BreadthFirst(_Later(model, walk.schedule))
        verdict = search.run()
        final = search.exploration.quiescent.clusters()
        # The schedule ends among states that are quiescent only together, such as retries that take turns, or before
        # events that wake nobody.
        if name == BuiltIn.DIVERGED and not verdict.stopped and baseline and final and not final.keys() & baseline:
            return diverged().sentence, "", False
        if name == BuiltIn.LEAK and not verdict.stopped:
            leaks = [next(leaks_in(model).of(state), None) for state in final.values()]
            if leaks and leaks[0] is not None and all(leaks):
                return leaks[0].sentence, "", False
        if name == BuiltIn.NEVER_SETTLES and search.had_enough and _goes_on(search.model):
            return f"from here on an unperturbed run still writes after {MOST_WRITES} writes", "", False
        for violation in verdict.violations:
            # One that needs more steps is another counterexample, apart from events that wake nobody.
            if violation.property == name and all(step.action in _DELIVERIES for step in violation.schedule):
                return violation.sentence, "", False
        if verdict.stopped:
            return "", f"the search of what can happen after the steps stopped, because {verdict.stopped}", True
    return "", f"{name} holds: {others}", False


def _goes_on(model: Model) -> bool:
    """The unperturbed run never settles, and no user has to act for that; values are others in every round."""
    cycle = restless(model)
    return cycle is not None and all(step.action != "act" for step in cycle.schedule)


def described(model: Model, step: Step) -> str:
    """Describes a step, also one that is not enabled."""
    name = model.layout.actor(step) or f"controller {step.instance + 1}"
    match step.action:
        case "act":
            return "the user's next action"
        case "call":
            return f"the next call of {name} for {step.subject}"
        case "deliver":
            return f"{name} sees the next event of {step.subject}"
        case "relist":
            return f"{name} lists {step.subject} again"
        case "retry":
            return f"{name} retries {step.subject}"
        case "timer":
            return f"the timer of {name} for {step.subject}"
        case "start":
            return f"{name} starts {step.subject}"
    return f"{step.action} of {name}"
