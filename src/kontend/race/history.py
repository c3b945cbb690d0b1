"""The objects of a log: for each its recent moments and versions, within a fixed amount of memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kontend.explore.properties.overwrites import Path
from kontend.race.log.actor import Actor
from kontend.race.log.event import ObjectKey
from kontend.race.moment import Moment, Version

#: Moments that are kept of each object.
_MOMENTS: Final = 64
#: Reads of each client and object that are kept, and of how many.
_READS: Final = 6
_READERS: Final = 200_000
#: Moments that a trace reaches back for the reads of other clients.
_EARLIER: Final = 8
#: Moments in a trace, at most.
_LONGEST: Final = 30


@dataclass(slots=True)
class Trail:
    """The moments of one object, oldest first."""

    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=_MOMENTS))
    #: The newest version that the log shows; None where the object does not exist, or is not known.
    current: Version | None = None
    #: The log shows that the object does not exist.
    absent: bool = False
    #: Something has changed the object that the log does not show whole, so the next version cannot be compared.
    gap: bool = False
    kind: str = ""
    size: int = 0
    #: Fields over which a fight was found already.
    fought: set[Path] = field(default_factory=set)

    def writes(self) -> Iterator[Moment]:
        """Return the moments that changed the object, newest first."""
        return (moment for moment in reversed(self.moments) if moment.changes)

    def author(self, moment: Moment, path: Path, since: int) -> Moment | None:
        """Return the newest write of another client since a version that changed a field."""
        for other in self.writes():
            if other.version is None or other.version.number <= since:
                return None
            if other.actor != moment.actor and other.touches(path):
                return other
        return None

    def has_changed(self, actor: Actor, path: Path) -> bool:
        """Return whether a client has changed a field before: it puts back what is its own."""
        return any(moment.actor == actor and moment.touches(path) for moment in self.writes())

    def span(self, moment: Moment, since: int) -> tuple[Moment, ...]:
        """Return the moments from the one that met or made a version to a write."""
        moments = list(self.moments)
        starts = [
            at
            for at, met in enumerate(moments)
            if met.version is not None and met.version.number <= since and (met.actor == moment.actor or met.changes)
        ]
        own = [at for at in starts if moments[at].actor == moment.actor]
        first = (own or starts or [0])[-1]
        # Reads of the other writers that came shortly before.
        writers = {other.actor for other in moments[first:] if other.changes}
        for at in range(first - 1, max(-1, first - 1 - _EARLIER), -1):
            version = moments[at].version
            if version is not None and version.number == since and moments[at].actor in writers:
                first = at
        span = moments[first:]
        if len(span) > _LONGEST:
            span = [span[0], *span[-_LONGEST:]]
        return (*span, moment)

    def version(self, number: int) -> Version | None:
        """Return a version by its number, with its content."""
        for moment in reversed(self.moments):
            for version in (moment.version, moment.before):
                if version is not None and version.number == number and version.body is not None:
                    return version
        current = self.current
        return current if current is not None and current.number == number and current.body is not None else None


@dataclass(frozen=True, slots=True)
class Known:
    """A version that a client has been sent."""

    number: int
    completed: float
    #: ``get``, ``list`` or ``write`` (the response to a write of its own).
    how: str
    uid: str = ""


class History:
    """The trails of all objects, and what each client has been sent of them."""

    def __init__(self, *, limit: int) -> None:
        """Keep objects of ``limit`` bytes in all; those that were not met for the longest time are forgotten first."""
        self._trails: OrderedDict[ObjectKey, Trail] = OrderedDict()
        self._known: OrderedDict[tuple[Actor, ObjectKey], deque[Known]] = OrderedDict()
        self._limit = limit
        self._size = 0
        #: The number of objects that had to be forgotten.
        self.forgotten = 0

    def trail(self, key: ObjectKey) -> Trail:
        """Return the trail of an object, which becomes the one that was met last."""
        trail = self._trails.get(key)
        if trail is None:
            trail = self._trails[key] = Trail()
        self._trails.move_to_end(key)
        return trail

    def add(self, key: ObjectKey, moment: Moment) -> None:
        """Add a moment to the trail of its object."""
        trail = self.trail(key)
        if len(trail.moments) == trail.moments.maxlen:
            self._resize(trail, -_size(trail.moments[0]))
        trail.moments.append(moment)
        self._resize(trail, _size(moment))
        while self._size > self._limit and len(self._trails) > 1:
            _, oldest = self._trails.popitem(last=False)
            self._size -= oldest.size
            self.forgotten += 1

    def _resize(self, trail: Trail, by: int) -> None:
        trail.size += by
        self._size += by

    def learn(self, actor: Actor, key: ObjectKey, known: Known) -> None:
        """Note that a client has been sent a version."""
        place = (actor, key)
        versions = self._known.get(place)
        if versions is None:
            versions = self._known[place] = deque(maxlen=_READS)
            if len(self._known) > _READERS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(place)
        versions.append(known)

    def known(self, actor: Actor, key: ObjectKey, before: float) -> list[Known]:
        """Return the versions that a client had been sent of an object at a time, oldest first."""
        return [version for version in self._known.get((actor, key), ()) if version.completed <= before]


def _size(moment: Moment) -> int:
    return 300 + (len(moment.version.body) if moment.version is not None and moment.version.body else 0)
