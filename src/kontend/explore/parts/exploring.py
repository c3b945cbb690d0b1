"""Explores a scenario part by part, where its parts are independent.

The number of states is then the sum over the parts instead of their product. What each part can do, it can do within
the whole; and the final states of the whole are the combinations of theirs. Where that would not be exact, nothing is
put together, and the whole is explored at once:

- a property of every state, memory, time or a mapping function that looks at the cache may concern several objects;
- violations that show at the end (``diverged`` and the like) in several parts may be one in the whole;
- a final state that only a fault leads to, in several parts, may need several faults, or one for all of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import zip_longest
from typing import Final, Protocol

from kontend.cluster.cluster import Cluster
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.part import Coupled, Part
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.settling.restless import restless
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.collection import holds_garbage
from kontend.explore.model.state.world import World
from kontend.explore.model.step import UNPERTURBED, Step
from kontend.explore.parts.alike import Searched, can_be_alike, renamed_footprint, renaming_to
from kontend.explore.parts.footprint import Footprint, footprint
from kontend.explore.parts.partition import Candidate, can_be_divided, candidates, neighbours, started
from kontend.explore.parts.renaming import NotAlike, Renaming
from kontend.explore.problems import BadScenario
from kontend.explore.properties import built_in
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.search.exploration import Exploration
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.verdict import Reached, Verdict, Violation

#: Violations that show when a run has ended, or never ends.
_AT_THE_END: Final = (BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER, BuiltIn.DIVERGED, BuiltIn.LEAK)
#: Of these, the violations of runs without an end.
_ENDLESS: Final = (BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER)
#: More combinations of final states than these are not put together.
_MOST_COMBINATIONS: Final = 1_000
#: A run that only has to settle takes no more steps than these.
_SETTLING: Final = 500


class Search(Protocol):
    """A search of all states."""

    exploration: Exploration

    def run(self) -> Verdict:
        """Search."""


#: Makes a search of a model.
Searching = Callable[[Model], Search]


@dataclass(frozen=True, slots=True)
class FinalState:
    """A final state of a part."""

    schedule: tuple[Step, ...]
    reached: Reached

    @property
    def needs_fault(self) -> bool:
        """Only a fault leads to it."""
        return any(step.action in OPTIONAL for step in self.schedule)


@dataclass(frozen=True, slots=True)
class Explored:
    """A part that was explored."""

    part: Part
    #: The steps of the whole scenario that lead to its start.
    prefix: tuple[Step, ...]
    verdict: Verdict
    finals: list[FinalState]
    footprint: Footprint
    #: It is like another part but for names, and was not searched itself.
    is_alike: bool = False

    @property
    def diverged(self) -> bool:
        """A final state differs from those of unperturbed runs."""
        return any(violation.property == BuiltIn.DIVERGED for violation in self.verdict.violations)

    @property
    def shows_at_the_end(self) -> bool:
        """Something is violated that shows at the end, or there is no end."""
        at_the_end = any(violation.property in _AT_THE_END for violation in self.verdict.violations)
        return at_the_end or not self.finals

    @property
    def may_not_end(self) -> bool:
        """Some run of it never settles, or is not followed to its end."""
        endless = any(violation.property in _ENDLESS for violation in self.verdict.violations)
        return endless or not self.finals or bool(self.verdict.stuck)


class NotIndependent(Exception):
    """The parts cannot be put together exactly."""


def explored_in_parts(model: Model, search: Searching) -> Verdict | None:
    """The verdict on a scenario from those on its parts; None where it is not made up of independent parts."""
    if not can_be_divided(model):
        return None
    begin = time.perf_counter()
    try:
        divided = candidates(model)
        if len(divided) > 1 and can_be_alike(model):
            model.mechanics.server.start_record()
        parts = _independent(model, divided)
        if len(parts) < 2 or model.mechanics.delivery.has_looked:
            return None
        explored = _Parts(model, parts, search).explored()
        if not _are_independent(model, [part.footprint for part in explored]):
            return None
        verdict = _Whole(model, explored).verdict()
    except (Coupled, NotIndependent, BadScenario):
        return None  # a scenario that is refused is refused as a whole
    finally:
        model.mechanics.server.record = None
    verdict.seconds = time.perf_counter() - begin
    return verdict


class _Parts:
    """Explores parts one after the other."""

    def __init__(self, model: Model, candidates: list[Candidate], search: Searching) -> None:
        self._model = model
        self._candidates = candidates
        self._search = search
        #: The parts whose states were all visited, each with the result.
        self._searched: list[tuple[Searched, Explored]] = []
        self._can_be_alike = can_be_alike(model)

    def explored(self) -> list[Explored]:
        """All parts. Raises :class:`NotIndependent` where they have to do with each other after all."""
        return [self._explored(candidate) for candidate in self._candidates]

    def _explored(self, candidate: Candidate) -> Explored:
        others = [other for other in self._candidates if other is not candidate]
        part, prefix = started(self._model, candidate, others)
        for searched, result in self._searched:
            try:
                renaming = renaming_to(self._model, searched, candidate, part)
            except NotAlike:
                continue
            return _renamed(result, renaming, part, prefix)
        restricted = self._model.restricted(part)
        search = self._search(restricted)
        verdict = search.run()
        if restricted.mechanics.delivery.has_looked:
            raise NotIndependent  # a mapping function may look at the objects of other parts
        schedules = search.exploration.quiescent.schedules()
        finals = [FinalState(*final) for final in zip(schedules, verdict.reached, strict=True)]
        result = Explored(part, prefix, verdict, finals, footprint(self._model, part))
        if self._can_be_alike and verdict.exhausted:
            self._searched.append((Searched(candidate, part, result.footprint), result))
        return result


def _renamed(result: Explored, renaming: Renaming, part: Part, prefix: tuple[Step, ...]) -> Explored:
    """A part that is like another one, which was explored. None of its states was visited."""
    verdict = replace(result.verdict, states=0, steps=0, cut=0, stuck=0, repeated=0, sets=0, depths=(), runs=0)
    verdict.violations = [
        replace(
            violation,
            sentence=renaming.text(violation.sentence),
            plain=renaming.text(violation.plain),
            schedule=tuple(map(renaming.step, violation.schedule)),
        )
        for violation in result.verdict.violations
    ]
    finals = [FinalState(tuple(map(renaming.step, final.schedule)), final.reached) for final in result.finals]
    return Explored(part, prefix, verdict, finals, renamed_footprint(renaming, result.footprint, part), True)


def _independent(model: Model, parts: list[Candidate]) -> list[Candidate]:
    """Join parts until none of them meets another one in its unperturbed run."""
    while len(parts) > 1:
        joined: set[int] = set()
        footprints = []
        for at, candidate in enumerate(parts):
            part, _ = started(model, candidate, [other for other in parts if other is not candidate])
            restricted = model.restricted(part)
            try:
                restless(restricted)
            except Coupled as error:
                met = (error.controller, error.request)
                owners = [number for number, candidate in enumerate(parts) if met in candidate.requests]
                if not owners:
                    return []  # an earlier action of a user has made its object: no candidate knows the request
                joined = {at, *owners}
                break
            footprints.append(footprint(model, part))
            if restricted.mechanics.delivery.has_looked:
                return []
        else:
            pairs = (
                {one, other}
                for one in range(len(parts))
                for other in range(one + 1, len(parts))
                if footprints[one].meets(footprints[other])
            )
            joined = next(pairs, set())
            if not joined:
                return parts
        rest = [candidate for at, candidate in enumerate(parts) if at not in joined]
        parts = neighbours([reduce(Candidate.joined, (parts[at] for at in sorted(joined))), *rest])
    return parts


def _are_independent(model: Model, footprints: Sequence[Footprint]) -> bool:
    layout = model.layout
    if any(len(process.kinds) > process.declared for process in layout.processes):
        return False  # a kind that is not declared has one view for all
    if any(program.asks_time for program in layout.programs) or layout.noticed.timer_has_fired:
        return False
    return not any(one.meets(other) for at, one in enumerate(footprints) for other in footprints[at + 1 :])


class _Whole:
    """The whole scenario, put together from its parts."""

    def __init__(self, model: Model, parts: list[Explored]) -> None:
        self._model = model
        self._parts = parts
        if sum(part.shows_at_the_end for part in parts) > 1:
            raise NotIndependent
        if model.scenario.properties and any(part.may_not_end for part in parts):
            raise NotIndependent  # of runs without an end, too, is asked what holds in them eventually
        if model.scenario.properties and any(part.diverged and _leaves_out(model, part) for part in parts):
            raise NotIndependent  # perhaps only in that: parts that are asked about final states leave nothing out
        if sum(any(final.needs_fault for final in part.finals) for part in parts) > 1:
            raise NotIndependent

    def verdict(self) -> Verdict:
        """The verdict on the whole."""
        parts = [part.verdict for part in self._parts]
        whole = replace(parts[0])
        whole.violations, whole.final_states, whole.reached, whole.notes = [], [], [], []
        whole.states, whole.steps = sum(verdict.states for verdict in parts), sum(verdict.steps for verdict in parts)
        whole.cut, whole.stuck = sum(verdict.cut for verdict in parts), sum(verdict.stuck for verdict in parts)
        whole.repeated, whole.sets = sum(verdict.repeated for verdict in parts), sum(verdict.sets for verdict in parts)
        whole.exhausted = all(verdict.exhausted for verdict in parts)
        whole.stopped = next((verdict.stopped for verdict in parts if verdict.stopped), "")
        whole.runs = max(verdict.runs for verdict in parts)
        whole.levels = _summed([verdict.levels for verdict in parts])
        # A part that is exhausted vouches for any number of perturbations.
        whole.certain = min(
            (verdict.certain for verdict in parts if not verdict.exhausted), default=len(whole.levels) - 1
        )
        whole.suggestions = next((verdict.suggestions for verdict in parts if verdict.suggestions), ())
        whole.limit = next((verdict.limit for verdict in parts if verdict.limit), "")
        whole.depths = _summed([verdict.depths for verdict in parts])
        whole.warnings = list(dict.fromkeys(warning for verdict in parts for warning in verdict.warnings))
        whole.notes = list(dict.fromkeys(note for verdict in parts for note in verdict.notes))
        whole.notes.append(self._note())
        violations = [self._of_whole(part, violation) for part in self._parts for violation in part.verdict.violations]
        forms: dict[bytes, int] = {}
        if all(part.finals for part in self._parts):
            violations += self._combine(whole, forms)
        whole.baseline_states = sum(reached.unperturbed for reached in whole.reached)
        whole.violations = list(_cheapest(violations))
        return whole

    def _note(self) -> str:
        note = f"explored as {len(self._parts)} parts that have nothing to do with each other"
        alike = sum(part.is_alike for part in self._parts)
        return f"{note}, of which {alike} {'is' if alike == 1 else 'are'} like another but for names" if alike else note

    def _combine(self, whole: Verdict, forms: dict[bytes, int]) -> Iterator[Violation]:
        """Add the final states of the whole; returns what they violate."""
        count = 1
        for part in self._parts:
            count *= len(part.finals)
        if count > _MOST_COMBINATIONS:
            raise NotIndependent
        for chosen in _combinations([part.finals for part in self._parts]):
            schedule, world = self._one_after_the_other(final.schedule for final in chosen)
            form = final_form(world, self._model.ignored)
            times, unperturbed = 1, True
            for final in chosen:
                times *= final.reached.times
                unperturbed = unperturbed and final.reached.unperturbed
            if form in forms:
                raise NotIndependent  # two combinations are one final state: made-up names are not the parts' own
            forms[form] = len(forms)
            whole.final_states.append(world.state)
            whole.reached.append(Reached(times, unperturbed))
            for prop in self._model.scenario.properties:
                if not prop.ask(Cluster(state=world.state)):
                    finding = built_in.not_eventually(prop.name)
                    yield counterexample(self._model, finding.property, finding.sentence, schedule)

    def _of_whole(self, part: Explored, violation: Violation) -> Violation:
        """A violation of a part as one of the whole."""
        if violation.property not in _AT_THE_END:
            schedule: Sequence[Step] = (*part.prefix, *violation.schedule)
        elif part.prefix and violation.property == BuiltIn.NEVER_SETTLES:
            raise NotIndependent  # its sentence counts the steps of the part
        else:
            order = sorted(self._parts, key=lambda other: other is part)  # the part that does not end comes last
            is_end = violation.property in (BuiltIn.DIVERGED, BuiltIn.LEAK)
            schedule = self._one_after_the_other(
                [
                    violation.schedule if verdict is part else min(verdict.finals, key=_mildest).schedule
                    for verdict in (self._parts if is_end else order)
                ],
                settle=is_end,
            )[0]
        made = counterexample(self._model, violation.property, violation.sentence, schedule, how=violation.how)
        return replace(made, count=violation.count, line=violation.line)

    def _one_after_the_other(
        self, schedules: Iterable[tuple[Step, ...]], *, settle: bool = True
    ) -> tuple[list[Step], World]:
        """The schedules of all parts one after the other, and the state after them, once everything has settled."""
        model, world = self._model, self._model.initial()
        schedule: list[Step] = []
        for step in (step for steps in schedules for step in steps):
            if step not in model.steps(world):
                raise NotIndependent
            schedule.append(step)
            world = model.next(world, step).world
        if not settle:
            return schedule, world
        for _ in range(_SETTLING):
            steps = model.steps(world)
            if is_quiescent(model, world, steps):
                return schedule, world
            left = [step for step in steps if step.action in UNPERTURBED]
            if not left:
                break
            schedule.append(min(left, key=lambda step: UNPERTURBED.index(step.action)))
            world = model.next(world, schedule[-1]).world
        raise NotIndependent


def _summed(columns: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The sums of numbers at the same position."""
    return tuple(map(sum, zip_longest(*columns, fillvalue=0)))


def _leaves_out(model: Model, part: Explored) -> bool:
    """Comparisons of the final states of a part may leave something out."""
    return bool(model.ignored.fields) or any(holds_garbage(state) for state in part.verdict.final_states)


def _combinations(finals: list[list[FinalState]]) -> Iterator[tuple[FinalState, ...]]:
    if not finals:
        yield ()
        return
    for first in finals[0]:
        for rest in _combinations(finals[1:]):
            yield (first, *rest)


def _mildest(final: FinalState) -> tuple[bool, int]:
    return not final.reached.unperturbed, len(final.schedule)


def _cheapest(violations: Iterable[Violation]) -> Iterator[Violation]:
    """The cheapest violation of each property and line, with the number of all; programming errors first."""
    causes: dict[tuple[object, ...], Violation] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for violation in violations:
        cause = (violation.property, violation.line)
        counts[cause] += violation.count
        known = causes.get(cause)
        cost = (violation.perturbations, len(violation.schedule))
        if known is None or cost < (known.perturbations, len(known.schedule)):
            causes[cause] = violation
    ordered = sorted(causes.items(), key=lambda item: item[0][0] != BuiltIn.EXCEPTION)
    return (replace(violation, count=counts[cause]) for cause, violation in ordered)
