"""Runs of reconciles that are driven response by response, in whatever language they are written.

A run stops where it waits for API calls. The driver responds to one of them at a time, in any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from kontend.explore.program.identities import generated_uuid
from kontend.explore.program.progress import Progress, difference
from kontend.explore.program.symbols import mirror_uuid, mirrored, mirrored_progress, uuid_token
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call


class Start(NamedTuple):
    """All that a reconcile depends on when it starts."""

    request: Key
    memory: bytes
    now: str
    #: The number from which generated uuids are counted, if the run sees real ones; -1 if it sees tokens.
    uuids_from: int = -1


class Exchange(NamedTuple):
    """A call of a run and the response to it."""

    call: Call
    #: Its position among the pending calls.
    at: int
    response: bytes


class Strayed(Exception):
    """A run that made another call than before on the way to where it should continue."""

    def __init__(self, expected: Progress, actual: Progress) -> None:
        super().__init__(difference(expected, actual) or "it made another call")
        self.expected = expected
        self.actual = actual


class DrivenRun(ABC):
    """A reconcile that is under way."""

    def __init__(self, name: str, start: Start, *, mirrors: bool, renamed: Callable[[str], str] = str) -> None:
        """``mirrors`` says that its code sees all tokens renamed. The driver sees the ordinary ones.

        ``renamed`` makes something else of the real uuids that the run generates.
        """
        self.start = start
        self.uuids = 0
        self._name = name
        self._mirrors = mirrors
        self._renamed = renamed

    @abstractmethod
    def _answer(self, at: int, kind: bytes, body: bytes) -> None:
        """Give the response to one of the pending calls."""

    @abstractmethod
    def _progress(self) -> Progress:
        """The progress, as the code sees it."""

    @abstractmethod
    def close(self) -> None:
        """End the run."""

    def respond(self, at: int, response: bytes) -> None:
        """Give the response to one of the pending calls: JSON behind ``=``, an error behind ``!``, or (``?``) none."""
        self._answer(at, response[:1], mirrored(response[1:]) if self._mirrors else response[1:])

    def follow(self, exchange: Exchange) -> None:
        """Give a response to the call that got it before. Raises :class:`Strayed` if it is not made this time."""
        call, at, response = exchange
        progress = self.progress()
        if at >= len(progress.calls) or progress.calls[at] != call:
            raise Strayed(Progress((call,), None, progress.uuids, progress.lines), progress)
        self.respond(at, response)

    def progress(self) -> Progress:
        """The calls that the run waits for, or its end."""
        return mirrored_progress(self._progress()) if self._mirrors else self._progress()

    def next_uuid(self) -> str:
        """The next uuid that the run generates."""
        self.uuids += 1
        if self.start.uuids_from >= 0:
            return self._renamed(_generated(self._name, self.start, self.uuids - 1))
        return mirror_uuid(self.uuids - 1) if self._mirrors else uuid_token(self.uuids - 1)


def generated_by(name: str, start: Start, count: int) -> list[str]:
    """The real uuids that a run has generated, if it sees them."""
    return [_generated(name, start, number) for number in range(count)] if start.uuids_from >= 0 else []


def _generated(name: str, start: Start, number: int) -> str:
    return generated_uuid(f"{name} {start.request}", start.uuids_from + number)
