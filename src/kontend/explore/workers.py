"""Several processes that look at worlds, for the same search in less time.

A world stays where it was found: only what a search needs to know of it travels. The search takes in what was found in
the order in which one process would have found it, so that numbers, stories and verdict are the same. The first worlds
are looked at here, until there are enough of them to share out; then the processes are forked, each with its part.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Final

from kontend.explore.expander import Expander, Found
from kontend.explore.footprints import Footprints
from kontend.explore.judge import Wrong
from kontend.explore.packing import Packed, Packer, Unpacker
from kontend.explore.scenario import BadScenario

#: How many worlds a layer must have for each process before they are worth it.
_ENOUGH: Final = 16
#: How many worlds' leaps travel at once.
_TOGETHER: Final = 32


class Workers:
    """Looks at worlds in other processes; to a search it is like an :class:`Expander`."""

    def __init__(self, expander: Expander, count: int) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise BadScenario("jobs: this system cannot fork processes; search with one")
        self._expander = expander
        self._count = count
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        #: Which process has a world.
        self._owners: dict[int, int] = {}
        self._expanded: list[int] = []
        self._unpackers: list[Unpacker] = []
        self._keep: list[list[tuple[int, int, int]]] = []
        self._drop: list[list[int]] = []
        #: The conversations that are known somewhere.
        self._conversations: set[bytes] = set()

    def first(self) -> tuple[bytes, int, tuple[bool, ...], tuple[Wrong, ...]]:
        """The first world."""
        return self._expander.first()

    def expand(self, numbers: list[int], *, first: bool) -> Iterator[tuple[int, list[Found]]]:
        """Where some worlds lead."""
        if not self._processes and len(numbers) < _ENOUGH * self._count:
            yield from self._expander.expand(numbers, first=first)
            return
        if not self._processes:
            self._start()
        shares: list[list[int]] = [[] for _ in self._pipes]
        for number in numbers:
            shares[self._owners[number]].append(number)
        for pipe, share in zip(self._pipes, shares, strict=True):
            pipe.send(("expand", share, first))
        self._expanded += numbers
        found: list[list[tuple[int, list[Found]]]] = [[] for _ in self._pipes]
        for number in numbers:
            owner = self._owners[number]
            if not found[owner]:
                found[owner] = list(self._unpackers[owner].unpack(self._received(owner)))
                found[owner].reverse()
            yield found[owner].pop()

    def keep(self, number: int, parent: int, at: int) -> None:
        """Remember a world under a number, where it was found."""
        if not self._processes:
            self._expander.keep(number, parent, at)
            return
        owner, before = self._owners[parent], self._owners.get(number)
        if before is not None and before != owner:
            self._drop[before].append(number)
        self._owners[number] = owner
        self._keep[owner].append((number, parent, at))

    def was_mistaken(self) -> bool:
        """Whether somebody touched what nobody was believed to touch."""
        if not self._processes:
            mistaken = self._expander.was_mistaken()
        else:
            mistaken = self._end_of_layer()
        if mistaken:
            self.close()
        return mistaken

    @property
    def conversations(self) -> int:
        """How many different conversations of reconciles were found."""
        return len(self._conversations | self._expander.conversation_ids())

    def close(self) -> None:
        """Stop the processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.terminate()
            process.join()
        self._pipes, self._processes, self._owners, self._expanded = [], [], {}, []

    # This side

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        waiting = self._expander.waiting()
        self._owners = {number: at % self._count for at, number in enumerate(waiting)}
        self._unpackers = [Unpacker() for _ in range(self._count)]
        self._keep = [[] for _ in range(self._count)]
        self._drop = [[] for _ in range(self._count)]
        for index in range(self._count):
            here, there = context.Pipe()
            mine = {number for number, owner in self._owners.items() if owner == index}
            process = context.Process(target=_work, args=(there, self._expander, mine, [*self._pipes, here]))
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)
        self._expander.forget(set(waiting))

    def _received(self, owner: int) -> Any:
        try:
            answer = self._pipes[owner].recv()
        except EOFError:
            raise RuntimeError("a process of the search has ended; was there too little memory?") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _end_of_layer(self) -> bool:
        for index, pipe in enumerate(self._pipes):
            pipe.send(("keep", self._keep[index], self._drop[index]))
            self._keep[index], self._drop[index] = [], []
        for number in self._expanded:
            del self._owners[number]
        self._expanded = []
        known = self._expander.engine.footprints
        relied: set[str] = set()
        for index in range(self._count):
            footprints, theirs, conversations = self._received(index)
            known.merge(footprints)
            relied |= theirs
            self._conversations |= conversations
        if self._expander.was_mistaken(relied):
            return True
        for pipe in self._pipes:
            pipe.send(("learn", known))
        return False


def _work(pipe: Connection, expander: Expander, mine: set[int], others: list[Connection]) -> None:
    """What a process does until its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when it is over
    for other in others:
        other.close()
    expander.forget({number for number in expander.waiting() if number not in mine})
    told: set[bytes] = set()
    packer = Packer()
    try:
        while True:
            what, *rest = pipe.recv()
            if what == "expand":
                for packed in _expanded(packer, expander, *rest):
                    pipe.send(packed)
            elif what == "keep":
                expander.keep_all(*rest)
                known = expander.conversation_ids()
                pipe.send((expander.engine.footprints, expander.relied(), known - told))
                told = known
            else:
                footprints: Footprints = rest[0]
                expander.engine.footprints.merge(footprints)
                expander.was_mistaken()
    except (EOFError, OSError):
        return
    except Exception as error:
        pipe.send(error)


def _expanded(packer: Packer, expander: Expander, numbers: list[int], first: bool) -> Iterator[Packed]:
    batch: list[tuple[int, list[Found]]] = []
    for result in expander.expand_and_hold(numbers, first=first):
        batch.append(result)
        if len(batch) == _TOGETHER:
            yield packer.pack(batch)
            batch = []
    if batch:
        yield packer.pack(batch)
