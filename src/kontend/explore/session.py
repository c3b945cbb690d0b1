"""Exploration by hand: the state after some chosen steps, and the steps that are enabled there.

A path is the numbers of the chosen steps among those that were enabled, so it means the same as long as the scenario
and its controllers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from kontend.explore.explain.explanation import Origin, explained
from kontend.explore.explain.lines import SourceLines
from kontend.explore.explain.steps import StepWriter
from kontend.explore.explain.trail import Trail
from kontend.explore.model.knowledge import NewKind
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.step import Step
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.symbols import Refuted
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.search.baseline import SOON, Baseline
from kontend.explore.search.walks.walk import Walk
from kontend.explore.trace.counterexample import counterexample
from kontend.report.decoding import encode
from kontend.report.document import Actor, Document, Explanation, Source
from kontend.report.page.contents import shown

T = TypeVar("T")
#: The steps that one look may take to find out what each choice violates.
_MOST_LOOKING: Final = 3_000


class NotEnabled(ValueError):
    """A path that names a step that is not enabled; the message says which one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An enabled step."""

    actor: str
    action: str
    text: str
    #: The number of perturbations that it adds.
    cost: int
    #: The number of steps of the path after which the same state was reached before; None if it was not.
    returns_to: int | None
    #: The properties that this step is the first to violate.
    violates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """The state after a path."""

    #: The steps so far; the violation is the first one along the path, with an empty name if there is none.
    document: Document
    choices: tuple[Choice, ...]
    quiescent: bool
    #: Every violated property: its sentence, and the number of steps after which it showed.
    violations: dict[str, tuple[str, int]]

    def to_json(self) -> dict[str, Any]:
        """This position as JSON for the page."""
        return {
            "document": shown(self.document),
            "choices": encode(self.choices),
            "quiescent": self.quiescent,
            "violations": [
                {"property": name, "sentence": sentence, "step": step}
                for name, (sentence, step) in self.violations.items()
            ],
        }


class Session:
    """A scenario that a reader explores by hand."""

    def __init__(self, scenario: Scenario, origin: Origin) -> None:
        self._scenario = scenario
        self._origin = origin
        self._model: Model | None = None
        self._baseline: frozenset[bytes] | None = None
        #: Explanations that were made, by property and schedule.
        self._explained: dict[tuple[str, tuple[Step, ...]], Explanation] = {}

    def at(self, path: Sequence[int]) -> Position:
        """The state after a path. Raises :class:`NotEnabled`."""
        return self._with_model(lambda model: self._position(model, path))

    def _with_model(self, look: Callable[[Model], T]) -> T:
        """Look with the model so far, which knows the programs; or with a new one when an assumption is refuted."""
        if self._model is not None:
            try:
                return look(self._model)
            except (Refuted, NewKind, Unsupported):
                self._model, self._baseline = None, None

        def looked(model: Model) -> T:
            result = look(model)
            self._model = model
            return result

        return restarted(self._scenario, looked)

    def _position(self, model: Model, path: Sequence[int]) -> Position:
        walk = Walk(model)
        keys = [model.key(walk.world)]
        for number, choice in enumerate(path, 1):
            steps = model.steps(walk.world)
            if not 0 <= choice < len(steps):
                raise NotEnabled(f"step {number}: there is no choice {choice + 1}, only {len(steps)} steps are enabled")
            walk.take(steps[choice])
            keys.append(model.key(walk.world))
        steps = model.steps(walk.world)
        quiescent = is_quiescent(model, walk.world, steps)
        if quiescent:
            self._judge_end(model, walk)
        return Position(
            self._document(model, walk),
            tuple(self._choice(model, walk, step, keys) for step in steps),
            quiescent,
            dict(walk.violations),
        )

    def _judge_end(self, model: Model, walk: Walk) -> None:
        """Judge a final state, against those of unperturbed runs too."""
        if walk.cost and self._baseline is None:
            self._baseline = Baseline(model, most=SOON).run().final_states
        judged = Walk(model, baseline=self._baseline)
        judged.follow(walk.schedule)
        walk.violations.update(
            {name: violation for name, violation in judged.violations.items() if name not in walk.violations}
        )

    def _choice(self, model: Model, walk: Walk, step: Step, keys: list[bytes]) -> Choice:
        transition = model.next(walk.world, step)
        violates: tuple[str, ...] = ()
        if (len(walk.schedule) + 1) * 10 <= _MOST_LOOKING:
            further = Walk(model, judge=walk.judge)
            for earlier in (*walk.schedule, step):
                further.take(earlier)
            violates = tuple(str(name) for name in further.violations if name not in walk.violations)
        key = model.key(transition.world)
        instance = model.layout.actor(step) or "user"
        returns_to = keys.index(key) if key in keys else None
        return Choice(instance, step.action, transition.line, transition.cost, returns_to, violates)

    def _document(self, model: Model, walk: Walk) -> Document:
        """The path as a trace document."""
        trail = Trail(model, walk.schedule)
        lines = SourceLines(self._origin.root)
        writer = StepWriter(lines)
        steps = tuple(replace(step, changes_nothing=False) for step in writer.steps(trail))
        file = self._origin.file
        return Document(
            Source(lines.relative(file) if file is not None else "", self._origin.scenario),
            self._explanation(model, walk),
            steps,
            actors=(
                *(Actor(name, "instance") for name in model.layout.actors()),
                *(Actor(name, "user") for name in dict.fromkeys(user.name for user in self._scenario.everybody())),
                Actor("server", "server"),
            ),
            objects=writer.objects,
            initial=writer.initial(trail),
            sources=lines.around,
        )

    def _explanation(self, model: Model, walk: Walk) -> Explanation:
        """Explains the first violation along the path."""
        if not walk.violations:
            return Explanation("", "")
        name, (sentence, length) = min(walk.violations.items(), key=lambda item: item[1][1])
        schedule = tuple(walk.schedule[:length])
        known = self._explained.get((name, schedule))
        if known is None:
            violation = counterexample(model, name, sentence, schedule, how="given")
            known = self._explained[name, schedule] = explained(self._scenario, violation, self._origin).violation
        return known
