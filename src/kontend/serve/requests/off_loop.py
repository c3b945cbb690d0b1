"""Costly requests beside the event loop.

``handle`` is a pure function, so a request that may take long is carried out in a thread, on the state it found, while
the loop goes on. A read is answered from that state. A write counts only if no other write came first; else it is
carried out again on the newer state, a few times, and then with other writes held back. :func:`is_costly` predicts
the cost from what is known before: sizes, numbers of objects, aliases, and rules in CEL with loops inside of loops. A
request that it underestimates is interrupted (:mod:`~kontend.serve.requests.loop_budget`) and goes to a thread as well.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, TypeVar

from kontend.cluster.memo import Memo
from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects, State
from kontend.kube.meta.names import Key
from kontend.serve.requests.exchange import Exchange
from kontend.serve.requests.loop_budget import LoopBudget

T = TypeVar("T")

#: Threads for costly requests. They share the interpreter with the loop: more would only slow it down.
_THREADS: Final = 4
#: Bytes of a body, of a stored object, of a request line, and of a list, from which a request counts as costly.
_BODY: Final = 32 * 1024
_TARGET: Final = 4 * 1024
_LIST_BYTES: Final = 256 * 1024
_LIST_OBJECTS: Final = 200
#: Writes of these change what the server serves.
_DEFINITIONS: Final = frozenset({"customresourcedefinitions", "apiservices"})
_LOOP: Final = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter|transform\w+|sortBy)\s*\(")
#: Where there are any of these, every write runs their expressions.
_POLICIES: Final = (
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
)


class Workers:
    """Threads that carry out costly requests."""

    def __init__(self) -> None:
        self.budget = LoopBudget()
        self._executor = ThreadPoolExecutor(_THREADS, "kontend-request")
        self._running: set[asyncio.Future[Any]] = set()

    def run(self, work: Callable[[], T], done: Callable[[asyncio.Future[T]], None]) -> None:
        """Do some work in a thread, and call back on the loop when it is done, or has failed."""
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        future.add_done_callback(done)

    async def finish(self) -> None:
        """Wait until everything is done."""
        self.budget.stop()
        while self._running:
            await asyncio.wait(self._running)
            await asyncio.sleep(0)
        self._executor.shutdown()


def is_costly(state: State, exchange: Exchange) -> bool:
    """Return whether a request may take longer than others should wait."""
    request = exchange.request
    body = request.body
    if len(body) > _BODY or len(exchange.target) > _TARGET:
        return True
    if body:
        if "yaml" in request.content_type and b"&" in body and b"*" in body:
            return True  # aliases: the value may be a thousand times larger than the text
        if request.method == "PATCH" and b'"copy"' in body:
            return True  # each operation may double the object
    path = request.path
    if not path.startswith("/api"):
        return path.startswith("/openapi/")
    group, version, rest = _place(path)
    if not rest or (exchange.reads and len(rest) > 1):
        return False
    resource = state.registry.at(group, version, rest[0])
    if resource is None:
        return False
    if exchange.reads:
        # A watch begins on the loop, where it misses nothing; its first events are made as they are read.
        return not request.first("watch") and _known_as_large(state.objects(resource.key))
    if resource.plural in _DEFINITIONS or _has_nested_loops(resource):
        return True
    if len(state.objects(_POLICIES[0])) or len(state.objects(_POLICIES[1])):
        return True
    return len(_stored(state, resource.key, path, rest)) > _BODY if len(rest) > 1 else request.method == "DELETE"


@lru_cache(maxsize=4096)
def _place(path: str) -> tuple[str, str, list[str]]:
    """Return the group and the version of a path, and the parts after them and the namespace."""
    parts = path.split("/")[2:]
    if path.startswith("/api/"):
        group, version, rest = "", parts[0], parts[1:]
    elif len(parts) > 2:
        group, version, rest = parts[0], parts[1], parts[2:]
    else:
        return "", "", []
    return group, version, rest[2:] if len(rest) > 2 and rest[0] == "namespaces" else rest


def _is_large(objects: Objects) -> bool:
    return len(objects) > _LIST_OBJECTS or sum(len(version.body) for version in objects.values()) > _LIST_BYTES


_known_as_large: Final = Memo(_is_large, size=32)


def _stored(state: State, key: str, path: str, rest: list[str]) -> bytes:
    """Return the stored object that a path names, or nothing."""
    _, _, below = path.partition("/namespaces/")
    namespace = below.partition("/")[0] if below and rest[0] != "namespaces" else ""
    version = state.find(key, Key(namespace, rest[1]))
    return b"" if version is None else version.body


@lru_cache(maxsize=1024)
def _has_nested_loops(resource: Resource) -> bool:
    """Return whether a rule of a custom resource may loop within a loop: others cost about as much as the body."""
    return resource.custom is not None and any(len(_LOOP.findall(rule)) > 1 for rule in _rules(resource.custom.openapi))


def _rules(node: Any) -> Iterator[str]:
    """All texts below a schema that may be rules."""
    if isinstance(node, Mapping):
        for rule in node.get("x-kubernetes-validations") or ():
            yield f"{rule.get('rule')} {rule.get('messageExpression')}"
        for child in node.values():
            yield from _rules(child)
    elif isinstance(node, (list, tuple)):
        for child in node:
            yield from _rules(child)
