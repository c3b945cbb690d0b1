"""The successors of a state: its macro-steps, each with the state after it and the judgement of what it did."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from kontend.explore.model.model import Model
from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.state.world import World
from kontend.explore.properties.built_in import Breach
from kontend.explore.properties.judge import Judge
from kontend.explore.reduction.macro_step import LocalMacroStep, MacroStep
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.explore.search.successor import NOTHING, Effects, StateRecord, Successor
from kontend.kube.meta.names import Key

#: Keys that are remembered where memory is limited.
_MOST_SEEN: Final = 200_000


class MacroStepSource(Protocol):
    """Lists the macro-steps of a state."""

    def of(self, world: World) -> list[MacroStep]:
        """All macro-steps of a state."""


class UnperturbedSteps:
    """The steps of a state that are no perturbations, one by one."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def of(self, world: World) -> list[MacroStep]:
        """All steps of a state that cost nothing."""
        origin = MacroStep(world)
        macros = [origin.then(step, self._model.next(world, step)) for step in self._model.steps(world)]
        return [macro for macro in macros if not macro.cost]


class _Beside(NamedTuple):
    """A state, and all that it has in common with those beside it, in which only one process differs."""

    world: World
    #: The key, in parts.
    shared: bytes
    processes: list[bytes]
    holds: tuple[bool, ...]
    reserve: Reserve
    #: The parts of its similarity; empty before somebody asks.
    similarities: list[bytes]


class Successors:
    """Computes and judges the successors of states."""

    def __init__(self, model: Model, source: MacroStepSource | None = None) -> None:
        self._model = model
        self._mechanics = model.mechanics
        self._noticed = model.layout.noticed
        self._source = source or MacroSteps(model)
        self._judge = Judge(model)
        #: The keys of states that were seen: of all of them, unless memory is limited.
        self._seen: set[bytes] = set()
        self._is_limited = False

    def limit(self) -> None:
        """Remember a limited number of keys from now on."""
        self._is_limited = True

    def forget(self) -> None:
        """Forget what can be computed again: keys, outcomes of requests, macro-steps, answers of properties."""
        self._seen = set()
        self._judge.forget()
        self._mechanics.forget()
        if isinstance(self._source, MacroSteps):
            self._source.forget()

    def reached(self, world: World) -> StateRecord:
        """A state as a search records it."""
        key, similar = self._mechanics.keys.of(world), 0
        if key not in self._seen:
            self._seen.add(key)
            similar = self._mechanics.similarity.of(world)
        holds, reserve = self._judge.holds(world), self._reserve(world)
        return StateRecord(key, world.objects, similar, holds, reserve, self._model.is_stuck(world))

    def of_initial(self, world: World) -> tuple[Breach, ...]:
        """Violations in the initial state."""
        return tuple(self._judge.of_initial(world))

    def of(self, world: World) -> tuple[list[Successor], list[MacroStep]]:
        """The successors of a state, and the macro-steps that lead to them."""
        if self._is_limited and len(self._seen) > _MOST_SEEN:
            self._seen = set()
        macros = self._source.of(world)
        may_fire = self._noticed.timer_has_fired
        beside: _Beside | None = None
        successors = []
        for macro in macros:
            if isinstance(macro, LocalMacroStep):
                beside = beside or self._beside(world)
                reached = self._reached_beside(beside, macro)
                # Hardly any of them fails or fires, so all others share one value, which is not even made.
                effects = NOTHING if macro.failure is None and not may_fire else self._of_local(macro)
            else:
                reached, effects = self.reached(macro.world), self._of(world, macro)
                if effects.created:
                    reached = reached._replace(size=macro.world.size)
            successors.append(Successor(macro.steps, macro.cost, reached, effects))
        return successors, macros

    def _beside(self, world: World) -> _Beside:
        keys, holds, reserve = self._mechanics.keys, self._judge.holds(world), self._reserve(world)
        return _Beside(world, keys.shared_part(world), keys.of_processes(world), holds, reserve, [])

    def _reached_beside(self, beside: _Beside, macro: LocalMacroStep) -> StateRecord:
        """The state after local steps, without making it: most of these are known, and never looked at again."""
        mechanics, world = self._mechanics, beside.world
        changed = beside.processes.copy()
        changed[macro.number] = macro.local.key
        key, similar = mechanics.keys.joined(beside.shared, changed), 0
        if key not in self._seen:
            self._seen.add(key)
            if not beside.similarities:
                beside.similarities.extend(mechanics.similarity.of_processes(world))
            changed = beside.similarities.copy()
            changed[macro.number] = macro.local.similarity
            similar = mechanics.similarity.joined(mechanics.similarity.shared_part(world), changed)
        is_stuck = macro.local.has_bugs and self._model.is_stuck(macro.world)
        return StateRecord(key, world.objects, similar, beside.holds, beside.reserve, is_stuck)

    def _of(self, world: World, macro: MacroStep) -> Effects:
        """The effects of a macro-step."""
        judge, last = self._judge, macro.steps[-1]
        findings: tuple[tuple[int, Breach], ...] = ()
        passed: tuple[bool, ...] = ()
        for at, before, transition in macro.writes:
            instance = macro.steps[at - 1].instance
            findings += tuple((at, finding) for finding in judge.of_write(before, transition, instance))
            if len(macro.writes) > 1:
                held = judge.holds(transition.world)
                passed = tuple(map(max, passed, held)) if passed else held
        return Effects(
            findings + self._of_failure(macro),
            _failure(macro),
            macro.refused,
            self._mechanics.users.position(world, last) if last.action == "act" else -1,
            macro.wrote,
            passed,
            _created(macro) if macro.writes else (),
            macro.is_optional,
            self._fires(macro),
        )

    def _of_local(self, macro: LocalMacroStep) -> Effects:
        """The effects of a macro-step that writes nothing."""
        fires = self._fires(macro)
        if macro.failure is None and not fires:
            return NOTHING
        return Effects(self._of_failure(macro), _failure(macro), fires=fires)

    def _of_failure(self, macro: MacroStep) -> tuple[tuple[int, Breach], ...]:
        if macro.failure is None:
            return ()
        last = macro.steps[-1]
        request = last.subject if isinstance(last.subject, Key) else Key("", "")
        findings = self._judge.of_failure(macro.failure, last.instance, request)
        return tuple((len(macro.steps), finding) for finding in findings)

    def _reserve(self, world: World) -> Reserve:
        return self._mechanics.faults.reserve(world) if world.budget.total else NO_RESERVE

    def _fires(self, macro: MacroStep) -> bool:
        return self._noticed.timer_has_fired and any(step.action == "timer" for step in macro.steps)


def _failure(macro: MacroStep) -> str:
    """The failure of a reconcile, unless it is a programming error."""
    return macro.failure.text if macro.failure is not None and not macro.failure.is_bug else ""


def _created(macro: MacroStep) -> tuple[Key, ...]:
    return tuple(change.key for _, _, transition in macro.writes for change in transition.changes if change.old is None)
