"""A counterexample that was found once, followed again in a test.

``@reproduce(token)`` makes :func:`~kontend.explore.check.check` follow one story instead of searching, for as long as
the decorated function runs. When the story has become impossible, or violates nothing any more, that is said: it is
time to take the line away.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from kontend.explore.engine import Engine
from kontend.explore.moves import Move
from kontend.explore.reference import Reference
from kontend.explore.scenario import Scenario, not_among
from kontend.explore.search import Search
from kontend.explore.story import violation_of
from kontend.explore.token import Story, read_token
from kontend.explore.verdict import Verdict
from kontend.explore.walk import GoodEnds, Walk
from kontend.explore.world import World

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: What is about all that can happen from a world on.
_NEVER_ENDS: Final = ("settles", "retried for ever")


class _Following:
    """A story that is to be followed, and whether anybody has asked for it."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.was_asked = False


_FOLLOWING: ContextVar[_Following | None] = ContextVar("kontend_following", default=None)


def reproduce(token: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """In the decorated function ``check`` only follows the story that a token stands for.

    The token is what ``kontend explore`` prints with a violation::

        @reproduce("eNqLVsrPS43PLUgtT...")
        def test_one_plan() -> None:
            assert check(scenario).ok
    """
    story = read_token(token)

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"@reproduce: expected a function of plain def, {function.__name__} is an async one")

        @functools.wraps(function)
        def following(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            here = _Following(story)
            before = _FOLLOWING.set(here)
            try:
                result = function(*args, **kwargs)
            finally:
                _FOLLOWING.reset(before)
            if not here.was_asked:
                raise AssertionError(f"@reproduce: {function.__name__} never called check, so nothing was reproduced")
            return result

        return following

    return decorate


def story_to_follow() -> Story | None:
    """The story that the test is to follow, if it is decorated."""
    here = _FOLLOWING.get()
    if here is None:
        return None
    here.was_asked = True
    return here.story


def followed(scenario: Scenario, story: Story) -> Verdict:
    """What is violated along a story. Raises ``AssertionError`` if that is no longer what the story says."""
    scenario = replace(scenario, bounds=replace(scenario.bounds, **story.bounds))
    engine = Engine(scenario)
    if story.property not in scenario.property_names():
        _is_gone(not_among("property", story.property, scenario.property_names()))
    walk = Walk(engine, good_ends=_good_ends(scenario) if story.property == "same end" else None)
    worlds = {engine.key(walk.world)}
    for number, move in enumerate(story.choices, 1):
        if move not in engine.moves(walk.world):
            _is_gone(f"move {number}, {_told(engine, move)}, is not possible. Possible here:{_possible(walk)}")
        walk.make(move)
        worlds.add(engine.key(walk.world))
    walk.end()
    wrongs = {name: (sentence, story.choices[:length]) for name, (sentence, length) in walk.wrongs.items()}
    if story.property not in wrongs:
        wrongs[story.property] = (_what_never_ends(scenario, story, sorted(wrongs)), story.choices)
    verdict = Verdict(bounds=str(scenario.bounds), stopped="it only followed a story")
    verdict.worlds, verdict.moves = len(worlds), len(story.choices)
    verdict.runs = sum(behaviour.runs for behaviour in set(engine.behaviours))
    verdict.violations = [
        violation_of(engine, name, sentence, choices, how="given") for name, (sentence, choices) in wrongs.items()
    ]
    return verdict


def _is_gone(why: str) -> NoReturn:
    raise AssertionError(f"the bug is gone, or the way to it has changed: {why}\nIf that is right, remove @reproduce.")


def _good_ends(scenario: Scenario) -> GoodEnds | None:
    """What undisturbed runs end in, if they have an end."""
    reference = Reference(scenario).run()
    return reference.good_ends if reference.ends is not None else None


class _Later(Engine):
    """An engine that begins after some moves."""

    def __init__(self, scenario: Scenario, choices: Sequence[Move]) -> None:
        super().__init__(scenario)
        self._choices = choices

    def start(self) -> World:
        """The world after the moves."""
        world = super().start()
        for move in self._choices:
            world = self.make(world, move).world
        return world


def _what_never_ends(scenario: Scenario, story: Story, violated: Sequence[str]) -> str:
    """What is wrong with all that can happen after a story, if its property is. Only a search from there can tell."""
    found = f"they violate {', '.join(violated)}" if violated else "nothing is violated"
    settling = {each.name for each in scenario.properties if each.mode == "eventually"}
    if story.property in {*_NEVER_ENDS, *settling}:
        verdict = Search(scenario, engine=_Later(scenario, story.choices)).run()
        for violation in verdict.violations:
            # One that needs more moves is another story.
            if violation.property == story.property and not violation.choices:
                return violation.sentence
        if verdict.stopped:
            found = f"what can happen after them was not searched to the end, because {verdict.stopped}"
    _is_gone(f"all {len(story.choices)} moves are possible, but {story.property} holds: {found}")


def _told(engine: Engine, move: Move) -> str:
    """A move in words, also one that is not possible."""
    is_there = 0 <= move.pilot < len(engine.names)
    who = engine.names[move.pilot] if is_there else f"controller {move.pilot + 1}"
    if move.what == "act":
        return "the user's next action"
    if move.what == "call":
        return f"the next call of {who}"
    if move.what == "deliver":
        kinds: dict[Any, str] = dict(enumerate(engine.kinds[move.pilot])) if is_there else {}
        return f"{who} sees the next event of {kinds.get(move.subject, 'a kind it had')}"
    return f"{who} {'will retry' if move.what == 'retry' else 'starts'} {move.subject}"


def _possible(walk: Walk) -> str:
    engine, world = walk.engine, walk.world
    return "".join(f"\n  {engine.make(world, move).text}" for move in engine.moves(world)) or " nothing"
