"""Follows a recorded counterexample again in a test.

``@reproduce(token)`` makes :func:`~kontend.explore.exploring.check` follow one schedule instead of searching, for as
long as the decorated function runs. The test fails with the explanation while the bug is there, passes once it is
fixed, and fails again when it comes back.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import ParamSpec, TypeVar

from kontend.explore.explain.explanation import explainer
from kontend.explore.replay.following import followed
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.trace.token import Recorded, read_token
from kontend.explore.verdict import Verdict

_P = ParamSpec("_P")
_R = TypeVar("_R")


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
    """The violations along a schedule. The verdict is true where its property is not violated any more."""
    scenario = replace(scenario, bounds=replace(scenario.bounds, **recorded.bounds))
    result = restarted(scenario, lambda model: followed(model, recorded.property, recorded.schedule))
    verdict = result.verdict
    if result.undecided:
        verdict.stopped = result.why
    elif not result.reproduced:
        verdict.not_reproduced = result.why
    verdict.explain = explainer(scenario)
    return verdict
