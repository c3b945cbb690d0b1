"""Expands states into their successors, and judges the steps on the way. Only plain data comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from kontend.explore.model.model import Model
from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import Finding
from kontend.explore.properties.judge import Judge
from kontend.explore.reduction.macro_step import LocalMacroStep, MacroStep
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.explore.search.graph import Graph
from kontend.explore.search.ways import Walker, ways_to
from kontend.kube.meta.names import Key

#: States that are looked at together: those that are not kept are made again.
_TOGETHER: Final = 256
#: Keys that are remembered where memory is limited.
_MOST_SEEN: Final = 200_000


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
    refused: str = ""
    #: The index of the user's action that it ends with; -1 for none.
    action: int = -1
    wrote: bool = False
    #: Properties of clusters that held after a write in the middle of an atomic reconcile.
    passed: tuple[bool, ...] = ()
    #: The keys of the objects that were created.
    created: tuple[Key, ...] = ()
    #: For a new state: equal for states that differ only in counters and made-up names.
    similar: int = 0
    #: The search does not go beyond the state.
    is_stuck: bool = False
    #: The faults that are left.
    reserve: Reserve = NO_RESERVE
    #: It need not happen, however long a run goes on.
    is_optional: bool = False
    #: A timer fires in it.
    fires: bool = False
    #: The number of objects after a step that creates some; else 0.
    size: int = 0


class Numbering(Protocol):
    """Numbers the successors of the state that was expanded last."""

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor of a state a number."""

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, if it is in this process."""


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
        self._mechanics = model.mechanics
        self._judge = Judge(model)
        #: States that were found and not expanded yet.
        self._frontier: dict[int, World] = {}
        #: The successors of the state that was expanded last; and of all whose successors are numbered later.
        self._last: list[MacroStep] = []
        self._held: dict[int, list[MacroStep]] = {}
        #: The most of them that are kept; the others are made again.
        self._most: int | None = None
        #: The keys of states that this expander has seen: of all of them, unless memory is limited.
        self._seen: set[bytes] = set()
        #: The ids of reconcile runs that were taken; and the number of nodes of all program trees then.
        self._taken: set[bytes] = set()
        self._counted = 0
        self._graph: Graph | None = None
        self._walker = Walker(model)

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self._graph = graph

    def adopt(self, numbers: list[int]) -> None:
        """Own just these states, which were found before: they are made again."""
        assert self._graph is not None
        most = len(numbers) if self._most is None else self._most
        self._frontier = dict(self._walker.followed(ways_to(self._graph, sorted(numbers)[:most])))

    def initial(self) -> tuple[bytes, Reserve, int, tuple[bool, ...], tuple[Finding, ...]]:
        """The initial state: its key, the faults left, its objects, the answers of the properties, and violations."""
        world = self.model.initial()
        self._frontier[0] = world
        return (
            self._mechanics.keys.of(world),
            self._mechanics.faults.reserve(world),
            world.objects,
            self._judge.holds(world),
            tuple(self._judge.of_initial(world)),
        )

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; one process has no use for those that come next."""
        del ahead
        for begin in range(0, len(numbers), _TOGETHER):
            some = numbers[begin : begin + _TOGETHER]
            # They are taken out at once: a limit on the number of states that are kept may come in between.
            worlds = {number: self._frontier.pop(number) for number in some if number in self._frontier}
            if len(worlds) < len(some):
                assert self._graph is not None
                missing = [number for number in some if number not in worlds]
                worlds.update(self._walker.followed(ways_to(self._graph, missing)))
            for number in some:
                successors, self._last = self._expanded(worlds.pop(number))
                yield number, successors

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give the successor ``at`` of ``parent``, which was expanded last, a number."""
        del parent
        if self._most is None or len(self._frontier) < self._most:
            self._frontier[number] = self._last[at].world
        else:
            self._frontier.pop(number, None)  # it was reached in another way before

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""
        return len(self._frontier)

    @property
    def processes(self) -> int:
        """The number of processes that expand states: this one."""
        return 1

    @property
    def memory(self) -> int:
        """The bytes that other processes have in memory: there are none."""
        return 0

    def limit(self, most: int) -> None:
        """Keep at most so many states, and make the others again when they are expanded."""
        self._most = most
        while len(self._frontier) > most:
            self._frontier.popitem()

    def forget(self) -> None:
        """Forget what can be computed again: outcomes of requests, macro-steps, answers of properties."""
        self._seen = set()
        self._walker.forget()
        self._judge.forget()
        self._mechanics.forget()
        if isinstance(self._source, MacroSteps):
            self._source.forget()

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last."""
        return self._last[at].world

    def end_layer(self) -> None:
        """Nothing to exchange."""

    def close(self) -> None:
        """Nothing to stop."""

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self.run_ids())

    # For those who number the successors later

    def expand_and_hold(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """Like :meth:`expand`; the successors stay available until :meth:`release`."""
        for number, successors in self.expand(numbers):
            self._held[number] = self._last
            yield number, successors

    def keep_held(self, number: int, parent: int, at: int) -> None:
        """Give the successor ``at`` of ``parent``, which is held, a number."""
        self._frontier[number] = self._held[parent][at].world

    def release(self, count: int) -> None:
        """Hold the successors of the first ``count`` states no longer: all that are kept have numbers."""
        for number in list(islice(self._held, count)):
            del self._held[number]

    def own(self, number: int, world: World) -> None:
        """Take over a state that was found elsewhere."""
        self._frontier[number] = world

    def frontier(self) -> list[int]:
        """The states that were found and not expanded yet."""
        return sorted(self._frontier)

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget some of them."""
        for number in numbers:
            self._frontier.pop(number, None)

    def drop_all(self) -> dict[int, World]:
        """Forget all of them; returns them."""
        dropped, self._frontier = self._frontier, {}
        return dropped

    def take_runs(self) -> set[bytes]:
        """The ids of the reconcile runs that are new since the last time."""
        count = sum(len(program.ids) for program in self.model.programs)
        if count == self._counted:
            return set()
        before, self._taken, self._counted = self._taken, self.run_ids(), count
        return self._taken - before

    def run_ids(self) -> set[bytes]:
        """The ids of the nodes of all program trees."""
        return set().union(*(program.ids for program in self.model.programs))

    def _expanded(self, world: World) -> tuple[list[Successor], list[MacroStep]]:
        if self._most is not None and len(self._seen) > _MOST_SEEN:
            self._seen = set()
        keys, seen = self._mechanics.keys, self._seen
        holds, reserve = self._judge.holds(world), self._reserve(world)
        shared, processes = keys.shared_part(world), keys.of_processes(world)
        similarity, shared_similarity = self._mechanics.similarity, b""
        similarities: list[bytes] = []
        macros = self._source.of(world)
        may_fire = self.model.layout.noticed.timer_has_fired
        successors = []
        for macro in macros:
            if not isinstance(macro, LocalMacroStep):
                successors.append(self._successor(world, macro))
                continue
            # Only one process differs; most of these states are known, and are never made.
            changed = processes.copy()
            changed[macro.number] = macro.local.key
            key = keys.joined(shared, changed)
            similar = 0
            if key not in seen:
                seen.add(key)
                if not shared_similarity:
                    shared_similarity, similarities = similarity.shared_part(world), similarity.of_processes(world)
                changed = similarities.copy()
                changed[macro.number] = macro.local.similarity
                similar = similarity.joined(shared_similarity, changed)
            failure = macro.failure
            successors.append(
                Successor(  # without names, which take half as long again
                    macro.steps,
                    macro.cost,
                    key,
                    world.objects,
                    holds,
                    self._of_failure(macro) if failure is not None else (),
                    failure.text if failure is not None and not failure.is_bug else "",
                    "",
                    -1,
                    False,
                    (),
                    (),
                    similar,
                    macro.local.has_bugs and self.model.is_stuck(macro.world),
                    reserve,
                    False,
                    may_fire and self._fires(macro),
                )
            )
        return successors, macros

    def _successor(self, world: World, macro: MacroStep) -> Successor:
        model, mechanics, judge = self.model, self._mechanics, self._judge
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
            findings += self._of_failure(macro)
        after = macro.world
        created = _created(macro) if macro.writes else ()
        key = mechanics.keys.of(after)
        similar = 0
        if key not in self._seen:
            self._seen.add(key)
            similar = mechanics.similarity.of(after)
        return Successor(
            macro.steps,
            macro.cost,
            key,
            after.objects,
            judge.holds(after),
            findings,
            failure.text if failure is not None and not failure.is_bug else "",
            macro.refused,
            mechanics.users.position(world, macro.steps[-1]) if macro.steps[-1].action == "act" else -1,
            macro.wrote,
            passed,
            created,
            similar,
            model.is_stuck(after),
            self._reserve(after),
            macro.is_optional,
            self._fires(macro),
            after.size if created else 0,
        )

    def _of_failure(self, macro: MacroStep) -> tuple[tuple[int, Finding], ...]:
        assert macro.failure is not None
        last = macro.steps[-1]
        request = last.subject if isinstance(last.subject, Key) else Key("", "")
        findings = self._judge.of_failure(macro.failure, last.instance, request)
        return tuple((len(macro.steps), finding) for finding in findings)

    def _reserve(self, world: World) -> Reserve:
        return self._mechanics.faults.reserve(world) if world.budget.total else NO_RESERVE

    def _fires(self, macro: MacroStep) -> bool:
        return self.model.layout.noticed.timer_has_fired and any(step.action == "timer" for step in macro.steps)


def _created(macro: MacroStep) -> tuple[Key, ...]:
    return tuple(change.key for _, _, transition in macro.writes for change in transition.changes if change.old is None)
