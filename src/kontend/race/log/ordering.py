"""Puts the events of a log in order.

Exports do not keep the order of lines: CloudWatch and Cloud Logging order by the time of arrival, and so do shippers
of several files. Events wait in a heap until 128 others have come, and leave by their times. One that comes later than
that is counted, because what was judged before it may be wrong.

Shippers deliver at least once, and rotated files overlap, so the second event of a request is left out.

An API server logs a request when its response is complete, so two writes of one object may be logged in the wrong
order even so. They wait in a second queue, in which they change places until their versions are in order.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from kontend.race.log.content import version_of
from kontend.race.log.event import WRITES, AuditEvent, ObjectKey

#: Events that wait for others, and their bytes.
_WAITING: Final = 256
_WAITING_BYTES: Final = 4 << 20


#: Events that wait for earlier ones, and their bytes.
_HEAP: Final = 128
_HEAP_BYTES: Final = 4 << 20


#: Requests that are remembered, so that a second event of one is left out.
_REMEMBERED: Final = 10_000


class Lateness(Protocol):
    """Counts events that came too late to be put in order."""

    late: int


def by_time(events: Iterable[AuditEvent], lateness: Lateness) -> Iterator[AuditEvent]:
    """Yield the events of one file by their times; a watch that begins comes before what is complete at the same
    time."""
    heap: list[tuple[float, bool, int, AuditEvent]] = []
    size, last = 0, float("-inf")
    for number, event in enumerate(events):
        heapq.heappush(heap, (event.completed, not event.started, number, event))
        size += event.size
        while len(heap) > _HEAP or (size > _HEAP_BYTES and len(heap) > 1):
            first = heapq.heappop(heap)[3]
            size -= first.size
            lateness.late += first.completed < last
            last = max(last, first.completed)
            yield first
    while heap:
        first = heapq.heappop(heap)[3]
        lateness.late += first.completed < last
        last = max(last, first.completed)
        yield first


def once(events: Iterable[AuditEvent]) -> Iterator[AuditEvent]:
    """Yield each request once; the beginning and the end of a watch are two."""
    seen: OrderedDict[tuple[str, bool], None] = OrderedDict()
    for event in events:
        key = (event.audit_id, event.started)
        if event.audit_id and key in seen:
            continue
        seen[key] = None
        if len(seen) > _REMEMBERED:
            seen.popitem(last=False)
        yield event


def in_order(events: Iterable[AuditEvent]) -> Iterator[AuditEvent]:
    """Yield the events of a log, with the writes of each object in the order of their versions."""
    waiting: deque[AuditEvent] = deque()
    writes: dict[ObjectKey, list[AuditEvent]] = defaultdict(list)

    def released() -> AuditEvent:
        first = waiting.popleft()
        same = writes.get(first.key)
        if same is None or not _has_version(first):
            return first
        least = min(same, key=lambda event: version_of(event.response) or 0)
        if least is not first:  # they change places
            at = next(at for at, event in enumerate(waiting) if event is least)
            waiting[at] = first
        same.remove(least)
        if not same:
            del writes[first.key]
        return least

    size = 0
    for event in events:
        waiting.append(event)
        size += event.size
        if _has_version(event):
            writes[event.key].append(event)
        while len(waiting) > _WAITING or (size > _WAITING_BYTES and len(waiting) > 1):
            first = released()
            size -= first.size
            yield first
    while waiting:
        yield released()


def _has_version(event: AuditEvent) -> bool:
    return event.verb in WRITES and event.succeeded and version_of(event.response) is not None
