"""Quiescence: the moment at which a process has done everything that it is going to do.

A process is idle when it has no request in progress, has been sent every event, has made no request for a while (the
*patience*) other than watches, lease renewals and what the baseline has learned to ignore, and has used no processor
time meanwhile. Time in which one of its threads waits for a processor does not count, so a loaded machine does not look
idle.

A process none of whose threads has run at all in that time is idle. One that wakes now and then may look for something,
as client-go does every 0.1 s while its caches sync, or may only have timers: it is silent for longer before it counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from kontend.live.process.processes import Usage, can_see_processes

#: The polls within the silence that is waited for, and the shortest and longest time between two, in seconds.
_POLLS: Final = 6
_SHORTEST: Final = 0.01
#: The polls that a silence takes at least, however late they come.
_AT_LEAST: Final = 2
#: Turns of the event loop in which a request that has been sent arrives at the gate, over a new connection too. On a
#: loaded machine they take long, and the process sleeps while it waits for its answer.
_TURNS: Final = 10
#: The silence of a process that wakes now and then, as a multiple of the patience, and in seconds at most, unless the
#: patience itself is longer.
_WAKING: Final = 3
_WAKING_AT_MOST: Final = 0.75
_LONGEST: Final = 0.1
#: The part of the time that counts towards the limit while processes wait for a processor.
_STARVED: Final = 0.25
#: Processor time within a poll that still counts as idle: timers of a language's runtime. A constant, and a share.
_NOISE: Final = 0.001
_SHARE: Final = 0.01


class Rest(Enum):
    """The way in which a wait has ended."""

    IDLE = "idle"
    EXITED = "exited"
    BUSY = "busy"
    #: Something has happened that the waiter must deal with first.
    INTERRUPTED = "interrupted"


class Subject(Protocol):
    """A process that is waited for."""

    @property
    def exited(self) -> bool:
        """Return whether it has ended by itself."""

    def usage(self) -> Usage:
        """Return its processor time so far."""


class Traffic(Protocol):
    """The requests and events of a process."""

    def in_progress(self, process: str) -> int:
        """Return the number of requests without an answer."""

    @property
    def last_activity(self) -> dict[str, float]:
        """Return when each process last made a request, was answered or was sent an event."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The silence after which a process counts as idle, and the time after which the wait is given up, in seconds.

    Time in which a process waits for a processor does not count, so neither depends on the load of the machine.
    """

    silence: float
    limit: float


@dataclass(frozen=True, slots=True)
class Wait:
    """The end of a wait, and the longest silence that the processes have broken by themselves."""

    rest: Rest
    longest_silence: float = 0.0
    #: The processes were silent for long enough, but used processor time.
    working: bool = False


async def wait_until_idle(
    traffic: Traffic,
    subjects: Mapping[str, Subject],
    patience: Patience,
    *,
    ready: Callable[[], bool] = lambda: True,
    interrupted: Callable[[], bool] = lambda: False,
    longer: Callable[[], float] = lambda: 0.0,
    counts_time: bool = True,
) -> Wait:
    """Wait until all processes are idle and ``ready`` holds, or until ``interrupted`` does.

    ``longer`` is the silence to wait for now, where it is longer than that of the patience. Without ``counts_time``,
    silence alone counts.
    """
    loop = asyncio.get_running_loop()
    last = loop.time()
    poll = min(_LONGEST, max(_SHORTEST, patience.silence / _POLLS))
    before = _usage(subjects)
    #: Since the last request: the silence without processor time, without a break and altogether; all silence. And the
    #: longest silence without processor time that a request has ended.
    quiet = silent = mute = longest = 0.0
    #: The time for which no thread has run.
    still = 0.0
    waited = 0.0
    while True:
        if interrupted():
            return Wait(Rest.INTERRUPTED, longest)
        if any(subject.exited for subject in subjects.values()):
            return Wait(Rest.EXITED, longest)
        is_ready = ready()
        wanted = max(patience.silence, longer())
        if still < patience.silence:
            wanted = max(wanted, min(patience.silence * _WAKING, _WAKING_AT_MOST))
        if quiet >= wanted and is_ready:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if not _speaks(traffic, subjects, last):
                return Wait(Rest.IDLE, longest)
        if waited >= patience.limit:
            return Wait(Rest.BUSY, longest, working=counts_time and mute >= patience.silence)
        await asyncio.sleep(poll)
        now, after = loop.time(), _usage(subjects)
        # A poll that comes late says that this process had no processor: then the others may have had none either.
        passed = min(now - last, poll)
        waited += max(passed - _waited(before, after), passed * _STARVED)
        if _speaks(traffic, subjects, last):
            longest = max(longest, silent if is_ready else 0.0)
            quiet = silent = mute = still = 0.0
        else:
            mute += passed
            if not counts_time:
                quiet += passed
                silent += passed
                still += passed
            elif _has_worked(before, after, _NOISE + _SHARE * (now - last)):
                quiet = still = 0.0
            elif not any(usage.running for usage in after.values()):
                # Processes that we can see have slept all the while, also when we come late: no thread of theirs has
                # waited for a processor, and a request of theirs would have been read before this poll returned.
                slept = min(now - last, max(poll, patience.silence / _AT_LEAST)) if after else passed
                idle = max(0.0, slept - _waited(before, after))
                quiet += idle
                silent += idle
                still = still + idle if _slices(before) == _slices(after) else 0.0
        last, before = now, after


def _speaks(traffic: Traffic, subjects: Mapping[str, Subject], since: float) -> bool:
    """Return whether a process waits for an answer, or has made a request, was answered or sent an event since then."""
    return any(traffic.in_progress(name) or traffic.last_activity.get(name, 0.0) > since for name in subjects)


def _usage(subjects: Mapping[str, Subject]) -> dict[str, Usage]:
    return {name: subject.usage() for name, subject in subjects.items()} if can_see_processes() else {}


def _has_worked(before: Mapping[str, Usage], after: Mapping[str, Usage], noise: float) -> bool:
    return any(usage.seconds - before[name].seconds > noise for name, usage in after.items())


def _slices(usages: Mapping[str, Usage]) -> list[int]:
    return [usage.slices for usage in usages.values()]


def _waited(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> float:
    """Return the time for which processes waited for a processor: it is no silence, for they could not speak."""
    return sum(max(0.0, usage.waited - before[name].waited) for name, usage in after.items())
