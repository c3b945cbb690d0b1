"""Things outside of the cluster that reconciles call, such as a sidecar or the API of a cloud.

The state of each is kept in an object of a kind of its own, so it is a part of the explored state like any other. A
call is a request to that object: a step of the trace that can fail, and lose its response. The server does not know the
kind's meaning: the fake of the user says what a call answers and how it changes the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from kontend.kube.crd.permissive import permissive_crd

#: The kind of the objects that hold the states.
EXTERNAL: Final = "External.explore.kontend.dev/v1"
#: The subresource that stands for a call: not a write of the object by the reconcile, which has not read it.
CALL: Final = "call"
#: The state of a declared event (such as one of a webhook) that was not sent yet, and of one that was.
NOT_SENT: Final = {"sent": False}
SENT: Final = {"sent": True}
DEFINITION: Final = permissive_crd(EXTERNAL, namespaced=False)


@dataclass(frozen=True, slots=True)
class ExternalAnswer:
    """The result of a call: the state after it, and what the caller is told, as JSON."""

    state: Any
    answer: Mapping[str, Any]


class ExternalError(Exception):
    """An error that something outside answers a call with. The call then leaves its state as it was."""


@dataclass(frozen=True, slots=True)
class External:
    """A fake of something outside of the cluster that code in another language calls.

    >>> def submit(task, tasks):
    ...     if task in tasks:
    ...         raise ExternalError(f"{task} was submitted before")
    ...     return len(tasks), [*tasks, task]
    >>> External([], submit).called("backup", [])
    ExternalAnswer(state=['backup'], answer={'answer': 0})
    >>> External([], submit).called("backup", ["backup"]).answer
    {'error': 'backup was submitted before'}
    """

    #: Its state at the start: plain JSON, a part of the explored state, which outlives crashes.
    state: Any
    #: Function from a call and the state to the answer and the state after it. It must depend on nothing else.
    respond: Callable[[Any, Any], tuple[Any, Any]]

    def called(self, call: Any, state: Any) -> ExternalAnswer:
        """The result of a call."""
        try:
            answer, after = self.respond(call, orjson.loads(orjson.dumps(state)))
        except ExternalError as error:
            return ExternalAnswer(state, {"error": str(error)})
        return ExternalAnswer(after, {"answer": answer})


class Fake(Protocol):
    """Stands for what is outside."""

    def called(self, name: str, state: Any, call: Any) -> ExternalAnswer:
        """The result of a call."""


def external_object(name: str, state: Any) -> dict[str, Any]:
    """The object that holds the state of something outside."""
    group, _, version = EXTERNAL.partition(".")[2].rpartition("/")
    kind = EXTERNAL.partition(".")[0]
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name}, "state": state}
