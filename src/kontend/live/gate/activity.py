"""Activity of the processes of a run: when each last worked, the calls that it repeats, and those that have failed.

Renewals of leases and the calls that the baseline has learned to ignore do not count as work. Discovery (no call) does,
except in a process that polls.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from kontend.live.gate.call import LEASES, UNJUDGED, Call


@dataclass(slots=True)
class _Failures:
    """Failures of one call in a row."""

    #: The time of the first one, of the last one, and the longest time between two.
    began: float
    last: float
    longest: float = 0.0
    #: The number of failures since the process was last waited for.
    count: int = 0


@dataclass(slots=True)
class _Repetitions:
    """Calls that a process has made since it has last changed something, or since it was last waited for."""

    began: float
    counts: Counter[Call] = field(default_factory=Counter)


class Activity:
    """The activity of each process, by its name."""

    def __init__(self, background: frozenset[Call]) -> None:
        #: Calls that go on forever and do not count as work, beside renewals of leases.
        self.background = background
        #: The time of the event loop at which a process last made a request, was answered or was sent an event.
        self.last: dict[str, float] = {}
        #: Processes that have made a request since they were started.
        self.heard: set[str] = set()
        #: The calls whose last attempt has failed.
        self._failed: dict[str, dict[Call, _Failures]] = {}
        self._repeated: dict[str, _Repetitions] = {}
        #: Calls that do not count: how often each was made since the last one that does.
        self._rounds: dict[str, Counter[Call | None]] = {}

    def counts(self, call: Call | None) -> bool:
        """Return whether a request counts as work."""
        if call is None:
            return not self.background
        return call.resource != LEASES and call not in self.background

    def note_request(self, process: str, call: Call | None) -> None:
        """Note that a request has arrived."""
        self.heard.add(process)
        if self.counts(call):
            self.note_work(process)
            if call is not None and call.verb != "watch":
                known = self._repeated.setdefault(process, _Repetitions(self.last[process]))
                known.counts[call] += 1
        elif call in self.background:
            self._rounds.setdefault(process, Counter())[call] += 1

    def note_answer(self, process: str, call: Call | None) -> None:
        """Note that a request is answered."""
        if self.counts(call):
            self.note_work(process)

    def note_work(self, process: str) -> None:
        """Note that a process works now."""
        self.last[process] = asyncio.get_running_loop().time()
        self._rounds.pop(process, None)

    def note_change(self, process: str) -> None:
        """Note that a process has changed something: it does not go round in vain."""
        self._repeated.pop(process, None)

    def note_outcome(self, process: str, call: Call, *, failed: bool) -> None:
        """Note that an attempt at a call has failed or succeeded, now."""
        if call.resource in UNJUDGED:
            return
        calls, now = self._failed.setdefault(process, {}), asyncio.get_running_loop().time()
        if not failed:
            calls.pop(call, None)
            return
        failures = calls.setdefault(call, _Failures(now, now))
        failures.longest = max(failures.longest, now - failures.last)
        failures.last = now
        failures.count += 1

    def failed(self, process: str) -> dict[Call, float]:
        """Return the calls whose last attempt has failed, and the longest time between two failures in a row.

        The process may be about to repeat them.
        """
        return {call: failures.longest for call, failures in self._failed.get(process, {}).items()}

    def is_stuck(self, process: str, times: int, seconds: float) -> bool:
        """Return whether a call has failed so often, or was made so often and has changed nothing, for ``seconds``.

        Both count from the last :meth:`begin_wait`.
        """
        repeated = self._repeated.get(process)
        if repeated is not None and max(repeated.counts.values(), default=0) >= times:
            return self.last[process] - repeated.began >= seconds
        return any(
            failed.count >= times and failed.last - failed.began >= seconds
            for failed in self._failed.get(process, {}).values()
        )

    def rounds(self, process: str) -> int:
        """Return how often a process has made the same call that does not count as work since its last that does."""
        return max(self._rounds.get(process, {}).values(), default=0)

    def begin_wait(self, process: str) -> None:
        """Count rounds and failures from now on: something has changed that the process may find."""
        self._rounds.pop(process, None)
        self._repeated.pop(process, None)
        now = asyncio.get_running_loop().time()
        for failures in self._failed.get(process, {}).values():
            failures.began, failures.count = now, 0

    def forget(self, process: str) -> None:
        """Forget the calls of a process that has been killed."""
        self._rounds.pop(process, None)
        self._failed.pop(process, None)
        self._repeated.pop(process, None)
