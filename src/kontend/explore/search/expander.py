"""Expands states into their successors, and judges the steps on the way. Only plain data comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import xxhash

from kontend.explore.model.budget import NO_RESERVE, Reserve
from kontend.explore.model.canonical import masked_digest
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.model.world import World
from kontend.explore.program.masking import masked
from kontend.explore.properties.built_in import Finding
from kontend.explore.properties.judge import Judge
from kontend.explore.reduction.macro_steps import MacroStep, MacroSteps
from kontend.kube.meta.names import Key


class Successor(NamedTuple):
    """One macro-step from a state."""

    steps: tuple[Step, ...]
    cost: int
    key: bytes
    objects: int
    holds: tuple[bool, ...]
    #: Violations, each with the number of steps after which it shows.
    findings: tuple[tuple[int, Finding], ...]
    #: The failure of a reconcile, unless it is a programming error.
    failure: str
    #: The server's reason to refuse a user's action.
    refused: str
    #: The index of the user's action that it ends with; -1 for none.
    action: int
    wrote: bool
    #: Properties of clusters that held after a write in the middle of an atomic reconcile.
    passed: tuple[bool, ...]
    #: The keys of the objects that were created.
    created: tuple[Key, ...]
    #: For a new state: equal for states that differ only in counters and made-up names.
    similar: int
    #: The search does not go beyond the state.
    is_stuck: bool
    #: The faults that are left.
    reserve: Reserve = NO_RESERVE
    #: It need not happen, however long a run goes on.
    is_optional: bool = False
    #: A timer fires in it.
    fires: bool = False
    #: The number of objects after a step that creates some; else 0.
    size: int = 0


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


class Expander:
    """Expands states one after the other, in this process."""

    def __init__(self, model: Model, source: MacroStepSource | None = None) -> None:
        self.model = model
        self._source = source or MacroSteps(model)
        self._judge = Judge(model)
        #: States that were found and not expanded yet.
        self._frontier: dict[int, World] = {}
        #: The successors of the state that was expanded last, and of all states of the last layer.
        self._last: list[World] = []
        self._held: dict[int, list[World]] = {}
        #: The keys of all states that this expander has seen.
        self._seen: set[bytes] = set()

    def initial(self) -> tuple[bytes, Reserve, int, tuple[bool, ...], tuple[Finding, ...]]:
        """The initial state: its key, the faults left, its objects, the answers of the properties, and violations."""
        world = self.model.initial()
        self._frontier[0] = world
        return (
            self.model.layout.keys.of(world),
            self.model.faults.reserve(world),
            world.objects,
            self._judge.holds(world),
            tuple(self._judge.of_initial(world)),
        )

    def expand(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states."""
        for number in numbers:
            successors, self._last = self._expanded(self._frontier.pop(number))
            yield number, successors

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give the successor ``at`` of ``parent``, which was expanded last, a number."""
        del parent
        self._frontier[number] = self._last[at]

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last."""
        return self._last[at]

    def end_layer(self) -> None:
        """Nothing to exchange."""

    def close(self) -> None:
        """Nothing to stop."""

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self.run_ids())

    # For those who number the successors only at the end of a layer

    def expand_and_hold(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """Like :meth:`expand`; the successors stay available until :meth:`keep_all`."""
        self._held = {}
        for number, successors in self.expand(numbers):
            self._held[number] = self._last
            yield number, successors

    def keep_all(self, keep: list[tuple[int, int, int]], drop: list[int]) -> None:
        """Number some of the successors that are held, and drop states that were numbered before."""
        for number, parent, at in keep:
            self._frontier[number] = self._held[parent][at]
        self.drop(set(drop))
        self._held = {}

    def frontier(self) -> list[int]:
        """The states that were found and not expanded yet."""
        return sorted(self._frontier)

    def drop(self, numbers: set[int]) -> None:
        """Forget some of them."""
        for number in numbers:
            self._frontier.pop(number, None)

    def run_ids(self) -> set[bytes]:
        """The ids of the nodes of all program trees."""
        return set().union(*(program.ids for program in self.model.programs))

    def _expanded(self, world: World) -> tuple[list[Successor], list[World]]:
        model, judge = self.model, self._judge
        keys = model.layout.keys
        successors, worlds = [], []
        for macro in self._source.of(world):
            findings: tuple[tuple[int, Finding], ...] = ()
            passed: tuple[bool, ...] = ()
            for at, before, transition in macro.writes:
                instance = macro.steps[at - 1].instance
                findings += tuple((at, finding) for finding in judge.of_write(before, transition, instance))
                if len(macro.writes) > 1:
                    held = judge.holds(transition.world)
                    passed = tuple(map(max, passed, held)) if passed else held
            failure = macro.failure
            if failure is not None:
                last = macro.steps[-1]
                request = last.subject if isinstance(last.subject, Key) else Key("", "")
                findings += tuple(
                    (len(macro.steps), each) for each in judge.of_failure(failure, last.instance, request)
                )
            after = macro.world
            created = _created(macro) if macro.writes else ()
            key = keys.of(after)
            worlds.append(after)
            successors.append(
                Successor(
                    macro.steps,
                    macro.cost,
                    key,
                    after.objects,
                    judge.holds(after),
                    findings,
                    failure.text if failure is not None and not failure.is_bug else "",
                    macro.refused,
                    model.users.position(world, macro.steps[-1]) if macro.steps[-1].action == "act" else -1,
                    macro.wrote,
                    passed,
                    created,
                    0 if key in self._seen else self._similar(after),
                    model.is_stuck(after),
                    model.faults.reserve(after) if after.budget.total else NO_RESERVE,
                    macro.is_optional,
                    model.timers.has_fired and any(step.action == "timer" for step in macro.steps),
                    after.size if created else 0,
                )
            )
            self._seen.add(key)
        return successors, worlds

    def _similar(self, world: World) -> int:
        keys = self.model.layout.keys
        parts: list[object] = [world.masked, world.acted, world.budget]
        parts += [(late.instance, late.in_flight.node.masked, late.at) for late in world.late]
        for index, instance in enumerate(world.instances):
            parts += [sorted(instance.queue), sorted(instance.delayed), sorted(instance.timers)]
            parts.append(masked(instance.memory))
            for at, resource in enumerate(self.model.resources[index][: len(instance.views)]):
                parts += [
                    (at, change.old and masked_digest(change.old), change.new and masked_digest(change.new))
                    for change in world.undelivered(index, at, resource)
                ]
            for in_flight in instance.running:
                versions = [keys.which_version(world.state, index, instance, met) for met in in_flight.versions]
                parts.append((in_flight.request, in_flight.node.masked, versions))
        return xxhash.xxh3_64_intdigest(repr(parts).encode())


def _created(macro: MacroStep) -> tuple[Key, ...]:
    return tuple(change.key for _, _, transition in macro.writes for change in transition.changes if change.old is None)
