"""A backend that records every call, and can fail, crash or let others act at any of them.

Nothing in these tests waits, so a coroutine is run by hand: no event loop is needed, which also proves that status
writes, children and plans suspend at calls and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import ApiError
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.guards import Guards

T = TypeVar("T")


class Crash(BaseException):
    """The process is gone: nothing may handle this, as nothing handles a power cut."""


@dataclass(frozen=True)
class Fault:
    """A failure of one call: raised before the server has carried it out, or after (the response is lost)."""

    error: BaseException
    committed: bool = False


@dataclass
class Wire:
    """A backend around a cluster."""

    inner: InProcess
    name: str = "a"
    #: The action before the n-th call: raise a fault, or let somebody else act.
    at: Mapping[int, Fault | Callable[[], object]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    _uuids: int = 0

    async def call(self, call: Call) -> Any:
        here = self.at.get(len(self.calls))
        self.calls.append(call)
        if isinstance(here, Fault):
            if here.committed:
                with suppress(ApiError):
                    self.inner.answer(call)
            raise here.error
        if here is not None:
            here()
        return self.inner.answer(call)

    def is_namespaced(self, kind: str) -> bool:
        return self.inner.is_namespaced(kind)

    def now(self) -> str:
        return self.inner.now()

    def uuid(self) -> str:
        self._uuids += 1
        return f"{self.name}-{self._uuids}"

    @property
    def writes(self) -> list[Call]:
        """The calls that may have changed something."""
        return [call for call in self.calls if call.writes]

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the writes."""
        return [json.loads(call.body) for call in self.writes]


def wired(
    cluster: Cluster,
    *,
    name: str = "a",
    at: Mapping[int, Fault | Callable[[], object]] | None = None,
    guards: Guards | None = None,
) -> tuple[Api, Wire]:
    """An api on a cluster, and its wire."""
    wire = Wire(InProcess(cluster), name, at or {})
    return Api(wire, guards=guards), wire


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("something other than a call suspended the reconcile")
