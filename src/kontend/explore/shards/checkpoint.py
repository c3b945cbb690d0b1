"""Checkpoints: a search that has ended early goes on where it was, and ends with the verdict of one that had not.

Everything that a search records follows from the expansions of its states, in order. So the expansions are written to
a journal. A search that starts again reads them instead of running controllers, which takes a fraction of the time;
where the journal ends, the states that are left are made again from the steps that lead to them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Final

import xxhash

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.problems import BadScenario
from kontend.explore.properties.built_in import Breach
from kontend.explore.scenario import Bounds
from kontend.explore.search.breadth_first import StateExpander
from kontend.explore.search.graph import Graph
from kontend.explore.search.successor import StateRecord, Successor
from kontend.explore.shards.journal import Journal
from kontend.explore.shards.packing import Packer, Unpacker
from kontend.explore.shards.user_modules import user_modules

#: After how many states, or seconds, a frame is written: the most that the end of the process costs.
_STATES: Final = 256
_SECONDS: Final = 1.0


def fingerprint(model: Model) -> str:
    """The name of the search of a model: another one for other code, bounds or assumptions, the same for all limits."""
    scenario, knowledge = model.scenario, model.knowledge
    limits = {name: getattr(Bounds(), name) for name in ("states", "steps", "seconds", "memory")}
    actions = [
        (writer.name, [(action.text, getattr(action.perform, "args", ()), action.retry) for action in writer.actions])
        for writer in scenario.everybody()
    ]
    described = [
        metadata.version("kontend"),
        model.key(model.initial()).hex(),
        [program.controller.name for program in model.programs],
        [(prop.mode, prop.name) for prop in scenario.properties],
        actions,
        replace(scenario.bounds, **limits),
        scenario.reductions,
        scenario.guards,
        sorted(assumption.name for assumption in knowledge.assumptions),
        sorted(knowledge.namespaced.items()),
    ]
    digest = xxhash.xxh3_128(repr(described).encode())
    for module in user_modules(scenario):
        if module.__file__ is not None and Path(module.__file__).is_file():
            digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()


class Checkpointed:
    """Expands states with another expander, unless they were expanded before; with the interface of that expander."""

    def __init__(self, expander: StateExpander, journal: Journal) -> None:
        self._expander = expander
        self._journal = journal
        self._recorded = self._read()
        self._graph: Graph | None = None
        self._is_live = False
        self._runs: set[bytes] = set()
        #: The expansions that were not written yet, and the runs that they are the first to lead to.
        self._batch: list[tuple[int, list[Successor]]] = []
        self._batch_runs: dict[int, set[bytes]] = {}
        self._packer = Packer()
        self._is_first = True
        self._written = time.monotonic()

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self._graph = graph
        self._expander.follow(graph)

    def initial(self) -> tuple[StateRecord, tuple[Breach, ...]]:
        """The initial state, and violations in it."""
        return self._expander.initial()

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; ``ahead`` are those that come next."""
        known = 0
        if not self._is_live:
            for number, successors, runs in islice(self._recorded, len(numbers)):
                if number != numbers[known]:
                    raise BadScenario(
                        f"checkpoint: {self._journal.path} belongs to another search: it goes on with state {number}, "
                        f"this one with state {numbers[known]}; remove it"
                    )
                known += 1
                self._runs |= runs
                yield number, successors
            if known == len(numbers):
                return
            self._go_on()
        for number, successors in self._expander.expand(numbers[known:], ahead):
            self._batch.append((number, successors))
            runs = self._expander.take_runs()
            if runs:
                self._batch_runs[number] = runs
                self._runs |= runs
            if len(self._batch) >= _STATES or time.monotonic() - self._written > _SECONDS:
                self._write()
            yield number, successors

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor a number."""
        if self._is_live:
            self._expander.keep(number, parent, at)

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, if it was expanded now and in this process."""
        return self._expander.successor(at) if self._is_live else None

    def adopt(self, numbers: list[int]) -> None:
        """Make states again that were found before."""
        self._expander.adopt(numbers)

    @property
    def processes(self) -> int:
        """The number of processes that expand states."""
        return self._expander.processes

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""
        return self._expander.held

    @property
    def memory(self) -> int:
        """The bytes that other processes have in memory."""
        return self._expander.memory

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states, and make the others again when they are expanded."""
        self._expander.limit(most)

    def forget(self) -> None:
        """Forget what can be computed again."""
        self._expander.forget()

    def end_layer(self) -> None:
        """All states of a layer were expanded and their successors numbered."""
        if self._is_live:
            self._expander.end_layer()

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self._runs | self._expander.run_ids())

    def run_ids(self) -> set[bytes]:
        """Their ids."""
        return self._runs | self._expander.run_ids()

    def take_runs(self) -> set[bytes]:
        """The ids of those that are new since the last time."""
        return self._expander.take_runs()

    def close(self) -> None:
        """Write what is left, and release processes."""
        try:
            self._write()
        finally:
            self._journal.close()
            self._expander.close()

    def _read(self) -> Iterator[tuple[int, list[Successor], set[bytes]]]:
        unpacker = Unpacker()
        for is_first, packed, runs in self._journal.frames():
            if is_first:
                unpacker = Unpacker()
            try:
                expansions = list(unpacker.unpack(packed))
            except (IndexError, ValueError):
                raise BadScenario(f"checkpoint: {self._journal.path} is damaged; remove it") from None
            for number, successors in expansions:
                yield number, successors, runs.get(number, set())

    def _go_on(self) -> None:
        """Make the states that are left again: the journal has ended."""
        assert self._graph is not None
        self._is_live = True
        self._expander.adopt([number for number in range(len(self._graph)) if self._graph.is_unexpanded(number)])

    def _write(self) -> None:
        if self._batch:
            packed, runs = self._packer.pack(self._batch), self._batch_runs
            self._batch, self._batch_runs = [], {}  # not again at the end, where there is no room for them
            self._journal.append(packed, runs, is_first=self._is_first)
            self._is_first = False
        self._written = time.monotonic()
