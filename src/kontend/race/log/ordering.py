"""Puts the events of a log in order.

An API server logs a request when its response is complete, so two writes of one object may be logged in the wrong
order. Events wait in a short queue, in which the writes of one object change places until their versions are in order.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Final

from kontend.race.log.content import version_of
from kontend.race.log.event import WRITES, AuditEvent, ObjectKey

#: Events that wait for others, and their bytes.
_WAITING: Final = 256
_WAITING_BYTES: Final = 4 << 20


def in_order(events: Iterable[AuditEvent]) -> Iterator[AuditEvent]:
    """The events of a log, with the writes of each object in the order of their versions."""
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
