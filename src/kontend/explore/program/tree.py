"""Program trees: what a controller does, as calls in nodes and responses on edges.

What a reconcile does next depends only on the responses so far and on its declared memory. So each controller is a
tree. User code runs once for each new path and is looked up from then on. An in-flight reconcile is a node of the tree,
which is why a state can be stored, forked and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import xxhash

from kontend.explore.program.determinism import Determinism, WatchedPaths
from kontend.explore.program.driven import DrivenRun, Exchange, Start, Strayed
from kontend.explore.program.event_loop import Interrupted, Unsupported
from kontend.explore.program.failures import is_same_course, with_other_codes
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.identities import VERSIONS
from kontend.explore.program.masking import masked, relative_response
from kontend.explore.program.memory import read_memory
from kontend.explore.program.polling import MOST_READS, is_polling
from kontend.explore.program.progress import Done, Progress, difference
from kontend.explore.program.run import PythonRun
from kontend.explore.program.suspended import SuspendedRuns, Twins
from kontend.explore.program.symbols import (
    Assumption,
    Refuted,
    leaked_versions,
    uuids_in,
    versions_in,
)
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call
from kontend.runtime.controller import BadController, Controller
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import SourceLocation

_UNWATCHED: Final[AbstractContextManager[object]] = nullcontext()


class RecordedRun(NamedTuple):
    """A run that was made: how it started, what was exchanged, and how far it came."""

    start: Start
    exchanges: list[Exchange]
    progress: Progress


class Behaviour(NamedTuple):
    """The progress of a run after one more response, as one process tells it to another."""

    start: Start
    #: The id of the node before; empty at the start of a run.
    parent: bytes
    #: The position of the call that got a response, the key of the edge, and the response.
    at: int
    key: Any
    response: bytes
    progress: Progress


class Node:
    """A point in a reconcile: the calls it waits for, or its end."""

    __slots__ = (
        "_masked",
        "asks_time",
        "at",
        "calls",
        "children",
        "done",
        "enqueued",
        "generated",
        "id",
        "lines",
        "parent",
        "response",
        "text",
        "uuids",
    )

    def __init__(
        self, id: bytes, parent: Node | None, at: int, response: bytes, progress: Progress, uuids: int
    ) -> None:
        #: 128 bits for the run so far: the same in every process.
        self.id = id
        self.parent = parent
        #: The position of the parent's call that got a response, and the response: JSON, behind ``=`` or ``!`` (error).
        self.at = at
        self.response = response
        self.calls = progress.calls
        #: For each call, the line of user code that makes it.
        self.lines: tuple[SourceLocation, ...] = progress.lines
        self.done: Done | None = progress.done
        #: For each call, its description.
        self.text = tuple(str(call) for call in progress.calls)
        #: The number of generated uuids that leave the run, by these calls or in its memory.
        self.uuids = uuids
        #: The number of uuids that the run has generated.
        self.generated = progress.uuids
        #: The run has asked for the time.
        self.asks_time = progress.asks_time
        #: The requests that it has just added to queues of its process.
        self.enqueued = progress.enqueued
        self.children: dict[Any, Node] = {}
        self._masked: int | None = None

    @property
    def masked(self) -> int:
        """Equal for nodes that differ only in counters and made-up names."""
        if self._masked is None:
            before = self.parent.masked if self.parent is not None else 0
            text = b"%d %d " % (before, self.at) + masked(relative_response(self.response))
            self._masked = xxhash.xxh3_64_intdigest(text)
        return self._masked


class Program:
    """The tree of one controller. All its instances share it."""

    def __init__(
        self,
        controller: Controller,
        guards: Guards,
        namespaced: Callable[[str], bool],
        number: int,
        assumptions: frozenset[Assumption] = frozenset(Assumption),
        watched: WatchedPaths | None = None,
    ) -> None:
        self.controller = controller
        #: The index of the controller in the scenario.
        self.number = number
        # The model knows what each cache has seen, so waiting for own writes is its task.
        self._guards = replace(guards, read_your_writes=False)
        self._namespaced = namespaced
        self._assumptions = assumptions
        self._roots: dict[Start, Node] = {}
        #: The starts of runs that were only looked at; while it is set, of those that are started now.
        self._looked_at: set[Start] = set()
        self._only_looks = False
        #: All nodes by id, but those of runs that were only looked at.
        self.ids: dict[bytes, Node] = {}
        #: Behaviours that were found and not yet exchanged with other processes; None where nobody asks for them.
        self.fresh: list[Behaviour] | None = None
        self.initial_memory = (
            controller.initial_memory if isinstance(controller, ForeignController) else read_memory(controller)
        )
        #: The number of paths that user code was run for. Runs that only compare do not count.
        self.runs = 0
        #: Some run has asked for the time.
        self.asks_time = False
        self._watched = watched or WatchedPaths()
        self._determinism = Determinism(controller, assumptions)
        self._suspended = SuspendedRuns(controller, self._determinism.undeclared)

    def root(self, start: Start) -> Node:
        """The node at which a reconcile starts."""
        node = self._roots.get(start)
        if node is None:
            if self._only_looks:
                self._looked_at.add(start)
            node = self._roots[start] = self._grow(None, 0, None, b"", start)
        elif start in self._looked_at and not self._only_looks:
            self._looked_at.remove(start)
            self._take_up(start, node)
        return node

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Start runs only to look at them: they are made once, and no verdict rests on them."""
        before, self._only_looks = self._only_looks, True
        try:
            yield
        finally:
            self._only_looks = before

    def _take_up(self, start: Start, root: Node) -> None:
        """Check the runs of a root that were only looked at so far, as all others are."""
        nodes = [root]
        while nodes:
            node = nodes.pop()
            _, exchanges, progress = _recorded(start, node)
            if not node.children:
                run = partial(self._run, exchanges, start)
                again = self._determinism.checked(start.request, run, partial(self._mirrored, exchanges, start))
                if difference(progress, again):
                    self._determinism.rerun(start.request, progress, run)
            if Assumption.SAME_FAILURES in self._assumptions and self._tells_codes(exchanges, start, progress):
                raise Refuted(Assumption.SAME_FAILURES)
            self.ids.setdefault(node.id, node)
            nodes.extend(node.children.values())

    def next(self, node: Node, at: int, key: Any, response: Callable[[], bytes], start: Start) -> Node:
        """The node after a response. ``key`` stands for the response, which is made only when the edge is new."""
        child = node.children.get((at, key))
        if child is None:
            child = node.children[at, key] = self._grow(node, at, key, response(), start)
        return child

    def _grow(self, parent: Node | None, at: int, key: Any, response: bytes, start: Start) -> Node:
        self.runs += 1
        exchanges = _exchanges_to(parent, at, response)
        if parent is not None and is_polling(exchanges):
            raise Unsupported(
                f"{parent.lines[at].short}: {self.controller.name}: the reconcile reads the same again and again; "
                f"{MOST_READS} responses in a row were no others. It waits for a change; look once, and ask to run "
                "again later: return Result(requeue_after=...)"
            )
        only_looks = start in self._looked_at
        progress = None
        if self._suspended.is_possible:
            progress = self._resumed(parent, at, response, start, exchanges, only_looks=only_looks)
        if progress is None and only_looks:
            progress = self._run(exchanges, start)
        elif progress is None:
            progress = self._determinism.checked(
                start.request,
                lambda: self._run(exchanges, start),
                partial(self._mirrored, exchanges, start),
            )
        if self._is_watched(parent, at, response, progress):
            self._determinism.watch(start.request, progress, lambda watch: self._run(exchanges, start, watch=watch))
        if Assumption.OPAQUE_VERSIONS in self._assumptions and leaked_versions(progress):
            raise Refuted(Assumption.OPAQUE_VERSIONS)
        if only_looks:
            return self._add(parent, at, response, start, progress)
        if Assumption.SAME_FAILURES in self._assumptions and self._tells_codes(exchanges, start, progress):
            raise Refuted(Assumption.SAME_FAILURES)
        if self.fresh is not None:
            self.fresh.append(Behaviour(start, parent.id if parent is not None else b"", at, key, response, progress))
        return self._add(parent, at, response, start, progress)

    def _is_watched(self, parent: Node | None, at: int, response: bytes, progress: Progress) -> bool:
        """Reports whether a path is watched. Those whose last steps lead from line to line alike are of one kind."""
        if isinstance(self.controller, ForeignController):
            return False
        before = parent.lines[at] if parent is not None else None
        failure = progress.done.failure if progress.done is not None else None
        kind = (before, response[:1], progress.lines, failure is not None and failure.line)
        return self._watched.takes(kind)

    def _resumed(
        self,
        parent: Node | None,
        at: int,
        response: bytes,
        start: Start,
        exchanges: list[Exchange],
        *,
        only_looks: bool,
    ) -> Progress | None:
        """The progress of a run that goes on from where it was suspended, and is suspended again where it waits.

        None where something is amiss: the whole path is run then, to find out what.
        """
        waiting = self._suspended.resumed(parent.id) if parent is not None else None
        if waiting is not None and waiting.mirror is None and not only_looks:
            waiting.close()
            waiting = None
        try:
            twins = waiting or Twins.started(
                lambda mirrors: self._started(exchanges[:-1], start, mirrors=mirrors), alone=only_looks
            )
        except (Strayed, BadController):
            return None
        except Interrupted:
            raise
        except Unsupported:
            self._suspended.give_up()  # it may be others that wait, with a lock
            return None
        progress = None
        try:
            for exchange in exchanges[-1:]:
                twins.follow(exchange, self._determinism.undeclared)
            progress = twins.progress()
        except (Strayed, BadController):
            pass
        except Interrupted:
            twins.close()
            raise
        except Unsupported:
            twins.close()
            self._suspended.give_up()
            return None
        except BaseException:
            twins.close()
            raise
        return progress if self._suspended.keep(_id(parent, at, response, start), twins, progress) else None

    def take(self, behaviour: Behaviour) -> None:
        """Take over a behaviour that another process has found. User code does not run."""
        start, parent_id, at, key, response, progress = behaviour
        if not parent_id:
            if start not in self._roots:
                self._roots[start] = self._add(None, at, response, start, progress)
            return
        parent = self.ids.get(parent_id)
        if parent is not None and (at, key) not in parent.children:
            parent.children[at, key] = self._add(parent, at, response, start, progress)

    def _add(self, parent: Node | None, at: int, response: bytes, start: Start, progress: Progress) -> Node:
        self.asks_time = self.asks_time or progress.asks_time
        uuids = uuids_in(progress.calls, progress.done) if start.uuids_from < 0 else 0
        node = Node(_id(parent, at, response, start), parent, at, response, progress, uuids)
        if start not in self._looked_at:
            self.ids.setdefault(node.id, node)
        return node

    def _mirrored(self, exchanges: list[Exchange], start: Start, clockless: bool) -> Progress:
        return self._run(exchanges, start, mirrors=True, clockless=clockless)

    def _run(
        self,
        exchanges: list[Exchange],
        start: Start,
        *,
        mirrors: bool = False,
        clockless: bool = True,
        watch: AbstractContextManager[object] = _UNWATCHED,
    ) -> Progress:
        """Run the reconcile, giving it the responses on the way; ``mirrors`` renames all tokens.

        If ``clockless``, a mirrored run of code in another language also sees another time.

        ``watch`` is entered while it goes on from the last response, or from its start if there is none.
        """
        with _UNWATCHED if exchanges else watch:
            run = self._started(exchanges[:-1], start, mirrors=mirrors, clockless=clockless)
        try:
            with watch:
                for exchange in exchanges[-1:]:
                    run.follow(exchange)
            return run.progress()
        finally:
            run.close()

    def _started(
        self,
        exchanges: list[Exchange],
        start: Start,
        *,
        mirrors: bool,
        clockless: bool = True,
        renamed: Callable[[str], str] = str,
    ) -> DrivenRun:
        """Start a reconcile and give it some responses. Raises :class:`Strayed`."""
        run: DrivenRun
        clockless = clockless and Assumption.CLOCKLESS in self._assumptions
        if isinstance(self.controller, ForeignController):
            run = self.controller.started(start, mirrors=mirrors, clockless=clockless)
        else:
            code, other = self._determinism.code, self._determinism.durations if mirrors else None
            run = PythonRun(
                self.controller,
                self._guards,
                self._namespaced,
                start,
                mirrors=mirrors,
                code=code,
                durations=other,
                renamed=renamed,
            )
        try:
            for exchange in exchanges:
                run.follow(exchange)
        except BaseException:
            run.close()
            raise
        return run

    def _tells_codes(self, exchanges: list[Exchange], start: Start, progress: Progress) -> bool:
        """The run does something else where a call fails with another code."""
        for responses in with_other_codes([exchange.response for exchange in exchanges]):
            changed = [
                exchange._replace(response=response) for exchange, response in zip(exchanges, responses, strict=True)
            ]
            try:
                if not is_same_course(progress, self._run(changed, start)):
                    return True
            except Strayed:
                return True
        return False

    # Runs in other processes

    def recorded_runs(self, most: int) -> list[RecordedRun]:
        """Some of the longest runs, evenly spread over all of them."""
        leaves = list(self._leaves())
        # Rounded up, so that it is never more than that share.
        sample = leaves[:: -(-len(leaves) // most)] if leaves else []
        return [_recorded(start, node) for start, node in sample]

    def calls_of(self, request: Key) -> Iterator[Call]:
        """All calls of the reconciles of a request so far."""
        for start, root in self._roots.items():
            if start.request == request:
                stack = [root]
                while stack:
                    node = stack.pop()
                    yield from node.calls
                    stack.extend(node.children.values())

    def lines(self) -> frozenset[SourceLocation]:
        """The lines of user code that have made a call in some reconcile."""
        found: set[SourceLocation] = set()
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            found.update(node.lines)
            stack.extend(node.children.values())
        return frozenset(found)

    def responses(self, node: Node) -> bytes:
        """The responses on the way to a node, without generations."""
        exchanges = _exchanges_to(node.parent, node.at, node.response)
        return b" ".join(relative_response(exchange.response) for exchange in exchanges)

    def runs_of(self, requests: Collection[Key]) -> Iterator[RecordedRun]:
        """The longest runs of some requests: all others are the beginning of one of them."""
        for start, node in self._leaves():
            if start.request in requests:
                yield _recorded(start, node)

    def opened(self, start: Start, renamed: Callable[[str], str]) -> DrivenRun:
        """Start a reconcile; ``renamed`` makes something else of the real uuids that it generates. Runs user code."""
        return self._started([], start, mirrors=False, renamed=renamed)

    def does(self, recorded: RecordedRun) -> bool:
        """Reports whether the controller makes this run. Runs user code."""
        try:
            progress = self._run(recorded.exchanges, recorded.start)
        except (Strayed, Unsupported, BadController):
            return False
        return progress._replace(lines=()) == recorded.progress._replace(lines=())

    def longest_runs(self) -> Iterator[tuple[bytes, RecordedRun]]:
        """All runs that are not the beginning of another one, each with the id of its end."""
        for start, node in self._leaves():
            yield node.id, _recorded(start, node)

    def repeated(self, recorded: RecordedRun) -> str:
        """Make a run again; describes how it differs from before, empty where it does not."""
        try:
            return difference(recorded.progress, self._run(recorded.exchanges, recorded.start))
        except (Strayed, Unsupported, BadController) as error:
            return str(error)

    def rerun(self, recorded: RecordedRun) -> None:
        """Make a run of another process again. Raises :class:`Nondeterminism` unless it does the same."""
        self._determinism.rerun(
            recorded.start.request, recorded.progress, lambda: self._run(recorded.exchanges, recorded.start)
        )

    def _leaves(self) -> Iterator[tuple[Start, Node]]:
        for start, root in self._roots.items():
            stack = [root] if start not in self._looked_at else []
            while stack:
                node = stack.pop()
                if not node.children:
                    yield start, node
                stack.extend(reversed(node.children.values()))


def _id(parent: Node | None, at: int, response: bytes, start: Start) -> bytes:
    """128 bits for a run so far."""
    before = parent.id + at.to_bytes(4, "big") if parent is not None else repr(start).encode()
    return xxhash.xxh3_128_digest(before + response)


def _recorded(start: Start, node: Node) -> RecordedRun:
    """The run from its start to a node."""
    return RecordedRun(
        start,
        _exchanges_to(node.parent, node.at, node.response),
        Progress(node.calls, node.done, node.generated, node.lines, node.asks_time, node.enqueued),
    )


def versions_before_work(node: Node, key: Key, versions: Sequence[tuple[str, Key, int]]) -> int | None:
    """The number of the ``versions`` that a run had met when it last wrote another object than the one it writes now.

    None for all: it has not written another object, or has looked at one since and may have found nothing to do.
    """
    write = next((call for call in node.calls if call.writes and call.key == key), None)
    at: Node | None = node if write is not None else None
    while write is not None and at is not None and at.parent is not None:
        made = at.parent.calls[at.at]
        if (made.kind, made.key) != (write.kind, write.key):
            return _versions_met(at, versions) if made.writes else None
        at = at.parent
    return None


def _versions_met(node: Node | None, versions: Sequence[tuple[str, Key, int]]) -> int | None:
    responses: list[bytes] = []
    while node is not None:
        responses.append(node.response)
        node = node.parent
    most = max(map(versions_in, responses), default=0)
    if not most:  # code that stores versions sees real ones
        shown = {number for response in responses for number in VERSIONS.findall(response)}
        most = max((at for at, met in enumerate(versions, 1) if str(met[2]).encode() in shown), default=0)
    return most or None


def _exchanges_to(node: Node | None, at: int, response: bytes) -> list[Exchange]:
    """The exchanges from the start to a node; the last one is the response to the node's own call ``at``."""
    exchanges: list[Exchange] = []
    while node is not None:
        exchanges.append(Exchange(node.calls[at], at, response))
        at, response, node = node.at, node.response, node.parent
    exchanges.reverse()
    return exchanges
