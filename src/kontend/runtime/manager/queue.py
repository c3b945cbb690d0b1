"""The work queue of a controller, without threads, tasks or a clock of its own.

It keeps the promises that reconcilers rely on: a key is never handed to two workers at once; a key that is added while
it is being worked on is handed out again afterwards, once; adding a key that waits already changes nothing. Failures
are retried with a delay that doubles for the same key, and all retries together are held to a rate, as in
controller-runtime. Time is whatever the ``clock`` says, so that a test moves it by hand.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Final

from kontend.runtime.controller import Request

Clock = Callable[[], float]

_FIRST_DELAY: Final = 0.005
_LONGEST_DELAY: Final = 1000.0
_RATE: Final = 10.0
_BURST: Final = 100


def backoff(failures: int) -> float:
    """Return the delay before the next attempt, in seconds, after this many earlier failures.

    >>> [backoff(n) for n in (0, 1, 2, 17, 18, 5000)]
    [0.005, 0.01, 0.02, 655.36, 1000.0, 1000.0]
    """
    return min(_FIRST_DELAY * 2.0 ** min(failures, 64), _LONGEST_DELAY)


class Rate:
    """A bucket of tokens: ``burst`` at once, then ``rate`` a second."""

    def __init__(self, clock: Clock, *, rate: float = _RATE, burst: int = _BURST) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = clock()

    def delay(self) -> float:
        """Take a token, and return the seconds to wait for it."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate) - 1
        self._at = now
        return max(0.0, -self._tokens / self._rate)


class Queue:
    """The requests that wait for a worker."""

    def __init__(self, clock: Clock, *, rate: Rate | None = None) -> None:
        self._clock = clock
        self._rate = rate if rate is not None else Rate(clock)
        self._ready: deque[Request] = deque()
        # Requests to hand out (again), and requests that a worker holds. One in both returns when the worker is done.
        self._dirty: set[Request] = set()
        self._active: set[Request] = set()
        self._failures: dict[Request, int] = {}
        # Timers: a heap, and for each key the time that counts; entries that were overtaken are skipped.
        self._timers: list[tuple[float, int, Request]] = []
        self._due: dict[Request, float] = {}
        self._order = count()
        self._closed = False
        #: Called when a request became ready or a timer was set.
        self.on_change: Callable[[], None] = lambda: None
        #: The number of requests added, not counting those that waited already.
        self.adds = 0
        self.retries = 0

    def add(self, request: Request) -> None:
        """Hand out a request as soon as a worker is free. Nothing happens when it waits already, or after closing."""
        if self._closed or request in self._dirty:
            return
        self.adds += 1
        self._dirty.add(request)
        if request not in self._active:
            self._ready.append(request)
            self.on_change()

    def add_after(self, request: Request, delay: float) -> None:
        """Hand out a request after ``delay`` seconds; of several delays for one request the shortest counts."""
        if self._closed:
            return
        if delay <= 0:
            self.add(request)
            return
        due = self._clock() + delay
        if due >= self._due.get(request, float("inf")):
            return
        self._due[request] = due
        heapq.heappush(self._timers, (due, next(self._order), request))
        self.on_change()

    def retry(self, request: Request) -> float:
        """Hand out a request again after a failure; returns the delay."""
        failures = self._failures.get(request, 0)
        self._failures[request] = failures + 1
        self.retries += 1
        delay = max(backoff(failures), self._rate.delay())
        self.add_after(request, delay)
        return delay

    def forget(self, request: Request) -> None:
        """Reset the backoff of a request that succeeded."""
        self._failures.pop(request, None)

    def failures(self, request: Request) -> int:
        """Return the number of failures of a request since it last succeeded."""
        return self._failures.get(request, 0)

    @property
    def failing(self) -> list[Request]:
        """The requests whose last run failed."""
        return list(self._failures)

    def take(self) -> Request | None:
        """Return the next request, or None when none is ready. Call :meth:`done` when it has been processed."""
        self._ripen()
        if not self._ready:
            return None
        request = self._ready.popleft()
        self._dirty.discard(request)
        self._active.add(request)
        return request

    def done(self, request: Request) -> None:
        """Note that a worker has processed a request; if it was added meanwhile, it is ready again."""
        self._active.discard(request)
        if request in self._dirty:
            self._ready.append(request)
            self.on_change()

    def next_due(self) -> float | None:
        """Return the time at which the next timer is due, on the clock."""
        while self._timers and self._due.get(self._timers[0][2]) != self._timers[0][0]:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def close(self) -> None:
        """Drop the waiting requests and accept no more; workers may finish theirs."""
        self._closed = True
        for requests in (self._ready, self._dirty, self._timers, self._due):
            requests.clear()
        self.on_change()

    @property
    def closed(self) -> bool:
        """True once the queue is closed."""
        return self._closed

    @property
    def active(self) -> int:
        """The number of requests that workers hold."""
        return len(self._active)

    def __len__(self) -> int:
        """Return the number of requests that are ready."""
        self._ripen()
        return len(self._ready)

    def _ripen(self) -> None:
        """Move requests whose timers are due to the ready ones."""
        if not self._timers:
            return
        now = self._clock()
        while (due := self.next_due()) is not None and due <= now:
            _, _, request = heapq.heappop(self._timers)
            del self._due[request]
            self.add(request)
