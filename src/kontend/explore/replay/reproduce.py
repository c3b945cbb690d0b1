"""Follows a recorded counterexample again in a test.

``@reproduce(token)`` makes :func:`~kontend.explore.exploring.check` follow one schedule instead of searching, for as
long as the decorated function runs. The test fails with the trace while the bug is there. Once a step is not enabled
any more or the property holds along the schedule, that is an ``AssertionError`` that says so: remove the line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, NoReturn, ParamSpec, TypeVar

from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.model.world import World
from kontend.explore.problems import not_among
from kontend.explore.properties.built_in import BuiltIn, diverged
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.walk import Walk
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.trace.token import Recorded, read_token
from kontend.explore.verdict import Verdict

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: Properties that concern everything that can happen from a state on.
_NEVER_END: Final = (BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER)


class _Following:
    """A counterexample that is to be followed, and whether ``check`` was called."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.was_checked = False


_FOLLOWING: ContextVar[_Following | None] = ContextVar("kontend_following", default=None)


def reproduce(token: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make ``check`` follow only the counterexample of a token in the decorated function.

    ``kontend explore`` prints the token with a violation::

        @reproduce("eNqLVsrPS43PLUgtT...")
        def test_one_plan() -> None:
            assert check(scenario)
    """
    recorded = read_token(token)

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"@reproduce: expected a function of plain def, {function.__name__} is an async one")

        @functools.wraps(function)
        def following(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            current = _Following(recorded)
            before = _FOLLOWING.set(current)
            try:
                result = function(*args, **kwargs)
            finally:
                _FOLLOWING.reset(before)
            if not current.was_checked:
                raise AssertionError(f"@reproduce: {function.__name__} never called check, so nothing was reproduced")
            return result

        return following

    return decorate


def recorded_to_follow() -> Recorded | None:
    """The counterexample that the current test is to follow, if it is decorated."""
    current = _FOLLOWING.get()
    if current is None:
        return None
    current.was_checked = True
    return current.recorded


def follow(scenario: Scenario, recorded: Recorded) -> Verdict:
    """The violations along a schedule. Raises ``AssertionError`` if its property is not violated any more."""
    scenario = replace(scenario, bounds=replace(scenario.bounds, **recorded.bounds))
    return restarted(scenario, lambda model: _followed(model, recorded))


def _followed(model: Model, recorded: Recorded) -> Verdict:
    scenario = model.scenario
    if recorded.property not in scenario.property_names():
        _is_gone(not_among("property", recorded.property, scenario.property_names()))
    baseline = Baseline(model).run().final_states if recorded.property == BuiltIn.DIVERGED else None
    walk = Walk(model, baseline=baseline)
    states = {model.key(walk.world)}
    for number, step in enumerate(recorded.schedule, 1):
        if step not in model.steps(walk.world):
            _is_gone(f"step {number}, {_described(model, step)}, is not enabled. Enabled here:{_enabled(walk)}")
        walk.take(step)
        states.add(model.key(walk.world))
    walk.end()
    violations = {name: (sentence, recorded.schedule[:length]) for name, (sentence, length) in walk.violations.items()}
    if recorded.property not in violations:
        sentence = _concerning_the_rest(model, recorded, baseline, sorted(violations))
        violations[recorded.property] = (sentence, recorded.schedule)
    verdict = Verdict(
        bounds=str(scenario.bounds), guards=scenario.guards.on, stopped="it only followed a recorded schedule"
    )
    verdict.states, verdict.steps = len(states), len(recorded.schedule)
    verdict.runs = sum(program.runs for program in set(model.programs))
    verdict.violations = [
        counterexample(model, name, sentence, schedule, how="given")
        for name, (sentence, schedule) in violations.items()
    ]
    return verdict


def _is_gone(why: str) -> NoReturn:
    raise AssertionError(f"the bug is gone, or the way to it has changed: {why}\nIf that is right, remove @reproduce.")


class _Later(Model):
    """A model that starts after some steps."""

    def __init__(self, model: Model, schedule: Sequence[Step]) -> None:
        super().__init__(model.scenario, model.knowledge)
        self._schedule = schedule

    def initial(self) -> World:
        """The state after the steps."""
        world = super().initial()
        for step in self._schedule:
            world = self.next(world, step).world
        return world


def _concerning_the_rest(
    model: Model, recorded: Recorded, baseline: frozenset[bytes] | None, violated: Sequence[str]
) -> str:
    """The sentence for a violation by everything that can happen after a schedule. Only a search can tell."""
    others = f"they violate {', '.join(violated)}" if violated else "nothing is violated"
    settling = {each.name for each in model.scenario.properties if each.mode == "eventually"}
    if recorded.property in {*_NEVER_END, *settling, BuiltIn.DIVERGED}:
        search = BreadthFirst(_Later(model, recorded.schedule))
        verdict = search.run()
        final = search.exploration.final_states()
        if (
            recorded.property == BuiltIn.DIVERGED
            and not verdict.stopped
            and baseline
            and final
            and not final & baseline
        ):
            # The schedule ends among states that are quiescent only together, such as retries that take turns.
            return diverged().sentence
        for violation in verdict.violations:
            # One that needs more steps is another counterexample.
            if violation.property == recorded.property and not violation.schedule:
                return violation.sentence
        if verdict.stopped:
            others = f"the search of what can happen after them stopped, because {verdict.stopped}"
    _is_gone(f"all {len(recorded.schedule)} steps are enabled, but {recorded.property} holds: {others}")


def _described(model: Model, step: Step) -> str:
    """Describes a step, also one that is not enabled."""
    exists = 0 <= step.instance < len(model.names)
    name = model.names[step.instance] if exists else f"controller {step.instance + 1}"
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
    return f"{name} starts {step.subject}"


def _enabled(walk: Walk) -> str:
    model, world = walk.model, walk.world
    return "".join(f"\n  {model.next(world, step).line}" for step in model.steps(world)) or " nothing"
