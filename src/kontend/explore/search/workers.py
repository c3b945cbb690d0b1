"""Expands states in several processes, for the same search in less time.

A state stays in the process that found it; only its successors' keys and findings travel. The search records them in
the order in which one process would have found them, so that numbers, traces and verdict are the same. The first
states are expanded here, until there are enough of them to share; then the processes are forked, each with its part.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Final

from kontend.explore.model.budget import Reserve
from kontend.explore.model.world import World
from kontend.explore.problems import BadScenario
from kontend.explore.properties.built_in import Finding
from kontend.explore.search.expander import Expander, Successor
from kontend.explore.search.packing import Packed, Packer, Unpacker

#: How many states a layer must have for each process before processes are worth it.
_ENOUGH: Final = 16
#: How many states' successors travel together.
_BATCH: Final = 32


class Workers:
    """Expands states in other processes, with the interface of an :class:`Expander`."""

    def __init__(self, expander: Expander, count: int) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise BadScenario("jobs: this system cannot fork processes; search with one")
        self._expander = expander
        self._count = count
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        #: The process that has a state.
        self._owners: dict[int, int] = {}
        self._expanded: list[int] = []
        self._unpackers: list[Unpacker] = []
        self._keep: list[list[tuple[int, int, int]]] = []
        self._drop: list[list[int]] = []
        #: The ids of the reconcile runs that some process knows.
        self._runs: set[bytes] = set()

    def initial(self) -> tuple[bytes, Reserve, int, tuple[bool, ...], tuple[Finding, ...]]:
        """The initial state."""
        return self._expander.initial()

    def expand(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states."""
        if not self._processes and len(numbers) < _ENOUGH * self._count:
            yield from self._expander.expand(numbers)
            return
        if not self._processes:
            self._start()
        shares: list[list[int]] = [[] for _ in self._pipes]
        for number in numbers:
            shares[self._owners[number]].append(number)
        for pipe, share in zip(self._pipes, shares, strict=True):
            pipe.send(("expand", share))
        self._expanded += numbers
        received: list[list[tuple[int, list[Successor]]]] = [[] for _ in self._pipes]
        for number in numbers:
            owner = self._owners[number]
            if not received[owner]:
                received[owner] = list(self._unpackers[owner].unpack(self._received(owner)))
                received[owner].reverse()
            yield received[owner].pop()

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor a number, in the process that found it."""
        if not self._processes:
            self._expander.keep(number, parent, at)
            return
        owner, before = self._owners[parent], self._owners.get(number)
        if before is not None and before != owner:
            self._drop[before].append(number)
        self._owners[number] = owner
        self._keep[owner].append((number, parent, at))

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, while this process expands states itself."""
        return None if self._processes else self._expander.successor(at)

    def end_layer(self) -> None:
        """Send the numbers of the successors to their processes."""
        for index, pipe in enumerate(self._pipes):
            pipe.send(("keep", self._keep[index], self._drop[index]))
            self._keep[index], self._drop[index] = [], []
        for number in self._expanded:
            del self._owners[number]
        self._expanded = []
        for index in range(len(self._pipes)):
            self._runs |= self._received(index)

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self._runs | self._expander.run_ids())

    def close(self) -> None:
        """Stop the processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.terminate()
            process.join()
        self._pipes, self._processes, self._owners, self._expanded = [], [], {}, []

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        frontier = self._expander.frontier()
        self._owners = {number: at % self._count for at, number in enumerate(frontier)}
        self._unpackers = [Unpacker() for _ in range(self._count)]
        self._keep = [[] for _ in range(self._count)]
        self._drop = [[] for _ in range(self._count)]
        for index in range(self._count):
            ours, theirs = context.Pipe()
            share = {number for number, owner in self._owners.items() if owner == index}
            process = context.Process(target=_work, args=(theirs, self._expander, share, [*self._pipes, ours]))
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        self._expander.drop(set(frontier))

    def _received(self, owner: int) -> Any:
        try:
            message = self._pipes[owner].recv()
        except EOFError:
            raise RuntimeError("a process of the search has ended; was there too little memory?") from None
        if isinstance(message, BaseException):
            raise message
        return message


def _work(pipe: Connection, expander: Expander, share: set[int], others: list[Connection]) -> None:
    """Expand states until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides when to stop
    for other in others:
        other.close()
    expander.drop({number for number in expander.frontier() if number not in share})
    sent: set[bytes] = set()
    packer = Packer()
    try:
        while True:
            command, *rest = pipe.recv()
            if command == "expand":
                for packed in _packed(packer, expander, *rest):
                    pipe.send(packed)
            else:
                expander.keep_all(*rest)
                known = expander.run_ids()
                pipe.send(known - sent)
                sent = known
    except (EOFError, OSError):
        return
    except BaseException as error:
        pipe.send(error)


def _packed(packer: Packer, expander: Expander, numbers: list[int]) -> Iterator[Packed]:
    batch: list[tuple[int, list[Successor]]] = []
    for expanded in expander.expand_and_hold(numbers):
        batch.append(expanded)
        if len(batch) == _BATCH:
            yield packer.pack(batch)
            batch = []
    if batch:
        yield packer.pack(batch)
