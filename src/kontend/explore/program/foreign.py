"""Controllers whose code runs in another process, in another language.

Their runs are driven like those of coroutines. The checks that look into Python code (its variables, sets, impure
calls) do not apply: hidden state shows when runs are made again in other orders, and the renamed run is free to change
whatever a run must not depend on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from kontend.explore.program.driven import DrivenRun, Start
from kontend.explore.program.external import ExternalAnswer
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.predicates import Event
from kontend.runtime.source_location import SourceLocation


class CodeFault(NamedTuple):
    """A fault of the code that a comparison of runs has shown, beside what the search finds."""

    property: str
    sentence: str
    line: SourceLocation


class ForeignController(Controller):
    """A controller in another language."""

    #: What may differ from run to run there, for messages.
    suspects: ClassVar[str] = ""
    #: How memory is declared there, for messages.
    declaring_memory: ClassVar[str] = ""

    @property
    @abstractmethod
    def initial_memory(self) -> bytes:
        """The declared memory of a process that has just started, as JSON."""

    #: The events from outside of the cluster that it gets, each at most once.
    events: Sequence[str] = ()

    @property
    def externals(self) -> Mapping[str, Any]:
        """The things outside of the cluster that it calls, with their states at the start."""
        return {}

    def called(self, name: str, state: Any, call: Any) -> ExternalAnswer:
        """The result of a call of something outside."""
        raise NotImplementedError

    @property
    def findings(self) -> Sequence[CodeFault]:
        """The faults that comparisons have shown so far."""
        return ()

    @abstractmethod
    def started(self, start: Start, *, mirrors: bool, clockless: bool) -> DrivenRun:
        """Start a reconcile. With ``mirrors`` its code sees all tokens renamed, and if ``clockless`` another time.

        Unless it is ``clockless``, the progress says that the run asks for the time.
        """

    def unifies(self, described: str, line: SourceLocation, compared: Callable[[], str]) -> bool:
        """Keep the cause of a difference of a renamed run from differing, and take note of it; False if it cannot.

        ``compared`` makes the renamed run again, and describes the difference.
        """
        del described, line, compared
        return False

    @abstractmethod
    def enqueued(self, event: Event, cache: Cache) -> list[Request]:
        """The requests that an event triggers."""

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Not called: the explorer drives :meth:`started`."""
        raise NotImplementedError

    def _requests_for(self, event: Event, cache: Cache, *, namespaced: bool) -> list[Request]:
        del namespaced  # its own handlers know
        return self.enqueued(event, cache)
