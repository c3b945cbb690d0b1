"""What a controller does, as a tree of conversations.

What a reconcile does next depends only on the answers it got so far. So its behaviour is a tree: a call in each node,
the answers on the edges. User code runs once for each new edge and is looked up ever after; a reconcile in flight is
just a node, which is why a world can be stored, forked and resumed.

Versions and uuids differ from world to world without mattering, so the code sees tokens in their place, numbered in the
order in which the conversation met them. Whoever makes the call puts the real ones back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson
import xxhash

from kontend.kube.errors import ApiError, from_status
from kontend.kube.names import Key
from kontend.runtime.api import Api
from kontend.runtime.call import Call
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards

_VERSION: Final = "7770000000"
_VERSIONS: Final = re.compile(rb"7770000000(\d{8})")
_UUID: Final = "7a7a7a7a-0000-4000-8000-"
_UUIDS: Final = re.compile(rb"7a7a7a7a-0000-4000-8000-(\d{12})")
#: The uuids that stand for what reconciles draw, once they are written somewhere.
UUID_PREFIX: Final = "00000000-0000-4000-b000-"
DRAWN: Final = re.compile(UUID_PREFIX.encode() + rb"[0-9a-f]{12}")


#: A file and a line in it.
Place = tuple[str, int]
_NOWHERE: Final[Place] = ("", 0)
_OURS: Final = str(Path(__file__).parent.parent)


class Nondeterminism(Exception):
    """A reconcile that did something else when it got the same answers again."""


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


@dataclass(frozen=True, slots=True)
class Done:
    """How a reconcile ended."""

    #: Run again: because of an error, or because it asked for it.
    again: bool
    error: str
    memory: bytes


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
        self._roots: dict[tuple[Key, bytes, str], Node] = {}
        self.first_memory = self._memory()
        #: How often user code ran.
        self.runs = 0

    def root(self, request: Key, memory: bytes, now: str) -> Node:
        """Where a reconcile of a request begins."""
        found = self._roots.get((request, memory, now))
        if found is None:
            found = self._roots[(request, memory, now)] = self._grow(None, b"", (request, memory, now))
        return found

    def next(self, node: Node, key: Any, answer: Callable[[], bytes], start: tuple[Key, bytes, str]) -> Node:
        """The node after an answer. ``key`` stands for the answer; its JSON is made only when the edge is new."""
        found = node.children.get(key)
        if found is None:
            found = node.children[key] = self._grow(node, answer(), start)
        return found

    def _grow(self, parent: Node | None, answer: bytes, start: tuple[Key, bytes, str]) -> Node:
        path: list[tuple[Call, bytes]] = []
        at, reply = parent, answer
        while at is not None:
            assert at.call is not None  # answers are given to calls
            path.append((at.call, reply))
            reply = at.answer
            at = at.parent
        call, done, drawn, place = self._run(list(reversed(path)), start)
        before = parent.id if parent is not None else repr(start).encode()
        if call is not None:
            self._note(self.number, call)
        return Node(xxhash.xxh3_128_digest(before + answer), parent, answer, call, done, drawn, place)

    def _run(
        self, path: list[tuple[Call, bytes]], start: tuple[Key, bytes, str]
    ) -> tuple[Call | None, Done | None, int, Place]:
        """Run the reconcile up to its next call, giving it the answers on the way."""
        self.runs += 1
        request, memory, now = start
        self._remember(memory)
        backend = _Conversation(self._namespaced, now)
        api = Api(backend, manager=self.controller.name, guards=self._guards)
        coroutine = self.controller.reconcile(Request(*request), api)
        try:
            call = _sent(coroutine, None)
            for expected, answer in path:
                if call != expected:
                    raise Nondeterminism(
                        f"{self.controller.name} {Key(*request)}: with the same answers it made the call '{expected}' "
                        f"once and '{call}' another time; use api.now() and api.uuid(), and name in `memory` what it "
                        "keeps from one run to the next"
                    )
                call = _sent(coroutine, _decoded(answer))
            place = _place(coroutine)
        except StopIteration as stop:
            result = stop.value if isinstance(stop.value, Result) else Result()
            again = result.requeue or result.requeue_after is not None
            return None, Done(again, "", self._memory()), backend.drawn, _NOWHERE
        except Nondeterminism:
            raise
        except Exception as error:
            return None, Done(True, f"{type(error).__name__}: {error}", self._memory()), backend.drawn, _NOWHERE
        finally:
            coroutine.close()
            # The controller is the user's: it is left as it was found.
            self._remember(self.first_memory)
        return call, None, backend.drawn, place

    def _remember(self, memory: bytes) -> None:
        for name, value in orjson.loads(memory).items():
            setattr(self.controller, name, value)

    def _memory(self) -> bytes:
        return orjson.dumps(
            {name: getattr(self.controller, name) for name in self.controller.memory}, option=orjson.OPT_SORT_KEYS
        )


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


def _sent(coroutine: Any, answer: Any) -> Call:
    call = coroutine.send(answer)
    if not isinstance(call, Call):
        raise Nondeterminism(f"a reconcile waited for {call!r}; it may only await calls of its api")
    return call


def _place(coroutine: Any) -> Place:
    """The innermost line of code that is not ours: the one a user wrote to make the call."""
    found = _NOWHERE
    while getattr(coroutine, "cr_frame", None) is not None:
        frame = coroutine.cr_frame
        if not frame.f_code.co_filename.startswith(_OURS) or found == _NOWHERE:
            found = (frame.f_code.co_filename, frame.f_lineno)
        coroutine = coroutine.cr_await
    return found


def _decoded(answer: bytes) -> Any:
    if answer[:1] == b"!":
        return from_status(orjson.loads(answer[1:]))
    return orjson.loads(answer[1:])
