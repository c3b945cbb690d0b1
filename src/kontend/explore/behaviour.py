"""What a controller does, as a tree of conversations.

What a reconcile does next depends only on the answers it got so far. So its behaviour is a tree: a call in each node,
the answers on the edges. User code runs once for each new edge and is looked up ever after; a reconcile in flight is
just a node, which is why a world can be stored, forked and resumed.

Versions and uuids differ from world to world without mattering, so the code sees tokens in their place, numbered in the
order in which the conversation met them. Whoever makes the call puts the real ones back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson
import xxhash

from kontend.explore.determinism import Determinism, Nondeterminism, Strayed
from kontend.explore.outcome import NOWHERE, Done, Outcome, Place
from kontend.explore.user_code import OURS
from kontend.kube.errors import ApiError, from_status
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.controller import BadController, Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.unawaited import collect_unawaited

_VERSION: Final = "7770000000"
_VERSIONS: Final = re.compile(rb"7770000000(\d{8})")
_UUID: Final = "7a7a7a7a-0000-4000-8000-"
_UUIDS: Final = re.compile(rb"7a7a7a7a-0000-4000-8000-(\d{12})")
#: The uuids that stand for what reconciles draw, once they are written somewhere.
UUID_PREFIX: Final = "00000000-0000-4000-b000-"
#: These, and the uids that the server hands out: whatever may be handed out again when nobody knows it any more.
DRAWN: Final = re.compile(rb"[0-9a-f]{8}-0000-4000-(?:8000|b000)-[0-9a-f]{12}")
#: Where an object lies in memory, in the words of an error.
_ADDRESSES: Final = re.compile(r" at 0x[0-9a-fA-F]+")
#: How often a reconcile may make another call while it is being closed.
_LAST_WORDS: Final = 20

#: How a reconcile begins: the request, the memory, the time.
Start = tuple[Key, bytes, str]
#: Calls, each with its answer, from the first on.
Exchanges = list[tuple[Call, bytes]]


def version_token(index: int) -> str:
    """What the code sees instead of the resourceVersion it met as number ``index`` (from 0)."""
    return f"{_VERSION}{index:08d}"


def bound(call: Call, uuids: tuple[str, ...]) -> Call:
    """A call with real uuids in its address."""
    name, namespace = (bind(each.encode(), (), uuids).decode() for each in (call.name, call.namespace))
    query = tuple((key, bind(value.encode(), (), uuids).decode()) for key, value in call.query)
    return replace(call, name=name, namespace=namespace, query=query)


def bind(data: bytes, versions: tuple[int, ...], uuids: tuple[str, ...]) -> bytes:
    """Put real versions and uuids in the place of tokens."""
    if _VERSION.encode() in data:
        data = _VERSIONS.sub(lambda match: str(versions[int(match[1])]).encode(), data)
    if _UUID.encode() in data:
        data = _UUIDS.sub(lambda match: uuids[int(match[1])].encode(), data)
    return data


def unbind(data: bytes, uuids: tuple[str, ...]) -> bytes:
    """Put the tokens of a conversation in the place of its own uuids: what it drew is what it gets to see."""
    for number, uuid in enumerate(uuids):
        data = data.replace(uuid.encode(), f"{_UUID}{number:012d}".encode())
    return data


class Node:
    """A point in a conversation: the next call, or the end."""

    __slots__ = ("answer", "call", "children", "done", "drawn", "id", "met_uuids", "parent", "place", "text", "uuids")

    def __init__(
        self,
        id: bytes,
        parent: Node | None,
        answer: bytes,
        call: Call | None,
        done: Done | None,
        drawn: int,
        place: Place,
    ) -> None:
        #: 128 bits for the conversation so far: the same in every process that holds it.
        self.id = id
        #: The line of the user's code that makes the call.
        self.place = place
        self.parent = parent
        #: What was answered to the parent's call: JSON, behind ``=`` or, for errors, ``!``.
        self.answer = answer
        self.call = call
        self.done = done
        #: The call in words.
        self.text = str(call) if call is not None else ""
        #: How many uuids were drawn so far.
        self.drawn = drawn
        #: How many of them the call makes known to the server.
        self.uuids = _uuids_in(call, done)
        #: The uuids drawn by any reconcile that the conversation was told of.
        told = frozenset(each.decode() for each in DRAWN.findall(answer))
        self.met_uuids: frozenset[str] = told | parent.met_uuids if parent is not None else told
        self.children: dict[Any, Node] = {}


class Conversation(NamedTuple):
    """A conversation that was held: how it began, what was said, and what came next."""

    start: Start
    path: Exchanges
    outcome: Outcome


class _Suspend:
    """Hands a call to whoever drives the coroutine, and returns the answer."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __await__(self) -> Generator[Call, Any, Any]:
        answer = yield self.call
        if isinstance(answer, ApiError):
            raise answer
        return answer


class _Conversation:
    """The backend of one run of a reconcile."""

    def __init__(self, namespaced: Callable[[str], bool], now: str) -> None:
        self._namespaced = namespaced
        self._now = now
        self.drawn = 0

    async def call(self, call: Call) -> Any:
        return await _Suspend(call)

    def is_namespaced(self, kind: str) -> bool:
        return self._namespaced(kind)

    def now(self) -> str:
        return self._now

    def uuid(self) -> str:
        self.drawn += 1
        return f"{_UUID}{self.drawn - 1:012d}"


class Behaviour:
    """The tree of one controller. All its instances share it."""

    def __init__(
        self,
        controller: Controller,
        guards: Guards,
        namespaced: Callable[[str], bool],
        number: int,
        note: Callable[[int, Call], None],
    ) -> None:
        """Begin without knowing anything; ``note`` is told of every call that is new."""
        self.controller = controller
        self._note = note
        #: Which of the scenario's controllers it is.
        self.number = number
        # The explorer knows what each cache has seen, so waiting for own writes is its business.
        self._guards = replace(guards, read_your_writes=False)
        self._namespaced = namespaced
        self._roots: dict[Start, Node] = {}
        #: What stands for each conversation that was found.
        self.ids: set[bytes] = set()
        self.first_memory = self._memory()
        #: How often user code ran, to see what it does. Running it again to compare does not count.
        self.runs = 0
        self._determinism = Determinism(controller)

    def root(self, request: Key, memory: bytes, now: str) -> Node:
        """Where a reconcile of a request begins."""
        found = self._roots.get((request, memory, now))
        if found is None:
            found = self._roots[(request, memory, now)] = self._grow(None, b"", (request, memory, now))
        return found

    def next(self, node: Node, key: Any, answer: Callable[[], bytes], start: Start) -> Node:
        """The node after an answer. ``key`` stands for the answer; its JSON is made only when the edge is new."""
        found = node.children.get(key)
        if found is None:
            found = node.children[key] = self._grow(node, answer(), start)
        return found

    def _grow(self, parent: Node | None, answer: bytes, start: Start) -> Node:
        call, done, drawn, place = self._run(_path_to(parent, answer), start)
        before = parent.id if parent is not None else repr(start).encode()
        if call is not None:
            self._note(self.number, call)
        node = Node(xxhash.xxh3_128_digest(before + answer), parent, answer, call, done, drawn, place)
        self.ids.add(node.id)
        return node

    def conversations(self, most: int) -> list[Conversation]:
        """Some of the conversations that went furthest, evenly spread over all of them."""
        ends = list(self._ends())
        # Rounded up, so that it is never more than so many.
        sample = ends[:: -(-len(ends) // most)] if ends else []
        return [
            Conversation(
                start,
                _path_to(node.parent, node.answer),
                Outcome(node.call, node.done, node.drawn, node.place),
            )
            for start, node in sample
        ]

    def hold_again(self, conversation: Conversation) -> None:
        """Hold a conversation of another process. Raises :class:`Nondeterminism` unless it comes to the same."""
        start, path, outcome = conversation
        self._determinism.held_again(start[0], outcome, lambda: self._held(path, start))

    def _ends(self) -> Iterator[tuple[Start, Node]]:
        for start, root in self._roots.items():
            stack = [root]
            while stack:
                node = stack.pop()
                if not node.children:
                    yield start, node
                stack.extend(reversed(node.children.values()))

    def _run(self, path: Exchanges, start: Start) -> Outcome:
        """What the reconcile does after these answers: found by running it, and some runs are made twice."""
        self.runs += 1
        return self._determinism.checked(self.runs, start[0], lambda: self._held(path, start))

    def _held(self, path: Exchanges, start: Start) -> Outcome:
        """Run the reconcile up to its next call, giving it the answers on the way."""
        request, memory, now = start
        self._remember(memory)
        backend = _Conversation(self._namespaced, now)
        api = Api(backend, manager=self.controller.name, guards=self._guards)
        coroutine = self.controller.reconcile(Request(*request), api)
        with collect_unawaited() as unawaited:
            try:
                found = self._answered(coroutine, None, backend)
                for expected, answer in path:
                    if found.call != expected:
                        raise Strayed(Outcome(expected, None, found.drawn, _place(coroutine)), found)
                    found = self._answered(coroutine, _decoded(answer), backend)
                if unawaited and not (found.done and found.done.error):
                    raise BadController(f"{type(self.controller).__name__}.reconcile: {unawaited[0]}")
                return found._replace(place=_place(coroutine)) if found.call is not None else found
            finally:
                _close(coroutine)
                # The controller is the user's; the next who looks at it finds it as it was.
                self._remember(self.first_memory)

    def _answered(self, coroutine: Any, answer: Any, backend: _Conversation) -> Outcome:
        """What a reconcile that waits for an answer does when it gets it."""
        try:
            call = coroutine.send(answer)
        except StopIteration as stop:
            result = stop.value if isinstance(stop.value, Result) else Result()
            again = result.requeue or result.requeue_after is not None
            return Outcome(None, Done(again, "", self._memory()), backend.drawn, NOWHERE)
        except Exception as error:
            text = _ADDRESSES.sub("", f"{type(error).__name__}: {error}")
            return Outcome(None, Done(True, text, self._memory()), backend.drawn, NOWHERE)
        if not isinstance(call, Call):
            raise Nondeterminism(
                f"{self.controller.name}: a reconcile waited for {call!r}; it may only await calls of its api"
            )
        return Outcome(call, None, backend.drawn, NOWHERE)

    def _remember(self, memory: bytes) -> None:
        for name, value in orjson.loads(memory).items():
            setattr(self.controller, name, value)

    def _memory(self) -> bytes:
        values = {name: getattr(self.controller, name) for name in self.controller.memory}
        try:
            return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:
            raise BadController(
                f"{self.controller.name}: what `memory` names must be plain JSON (not a set, but a sorted list): "
                f"{error}"
            ) from None


def _uuids_in(call: Call | None, done: Done | None) -> int:
    """How many of the uuids it drew somebody else learns of: with a call, or from the memory that is left."""
    text = done.memory if done is not None else b""
    if call is not None:
        text = b"\n".join((call.body, call.name.encode(), call.namespace.encode(), repr(call.query).encode()))
    if _UUID[:8].encode() not in text:
        return 0
    whole = _UUIDS.findall(text)
    if len(whole) != text.count(_UUID[:8].encode()):
        what = f"the call '{call}' holds" if call is not None else "the memory that is left holds"
        raise Nondeterminism(
            f"{what} a part of what api.uuid() returned, which is not known yet; use it whole, or let the server make "
            "up a name (generateName)"
        )
    return max(int(number) for number in whole) + 1


def _path_to(node: Node | None, answer: bytes) -> Exchanges:
    """The calls from the beginning to a node, each with its answer; ``answer`` is that to the node's own call."""
    path: Exchanges = []
    while node is not None:
        assert node.call is not None  # answers are given to calls
        path.append((node.call, answer))
        answer = node.answer
        node = node.parent
    path.reverse()
    return path


def _close(coroutine: Any) -> None:
    """End a run that is not needed any more; what its ``finally`` blocks do on the way does not count."""
    for _ in range(_LAST_WORDS):
        try:
            coroutine.close()
        except RuntimeError:  # it awaits something in a finally block; the next turn closes it there
            continue
        except Exception:
            return
        return


def _place(coroutine: Any) -> Place:
    """The innermost line of code that is not ours: the one a user wrote to make the call."""
    found = NOWHERE
    while getattr(coroutine, "cr_frame", None) is not None:
        frame = coroutine.cr_frame
        if not frame.f_code.co_filename.startswith(OURS) or found == NOWHERE:
            found = (frame.f_code.co_filename, frame.f_lineno)
        coroutine = coroutine.cr_await
    return found


def _decoded(answer: bytes) -> Any:
    if answer[:1] == b"!":
        return from_status(orjson.loads(answer[1:]))
    return orjson.loads(answer[1:])
