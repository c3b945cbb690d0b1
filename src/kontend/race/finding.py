"""Findings: writes of a log that undo those of others, fights and hot loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from kontend.explanation.fix import Fix
from kontend.explore.properties.overwrites import Path
from kontend.race.log.actor import Actor
from kontend.race.log.event import Resource
from kontend.race.moment import Moment

LOST_UPDATE = "lost update"
VANISHED_ELEMENT = "vanished element"
WRONG_OBJECT = "wrong object"
BLIND_OVERWRITE = "blind overwrite"
STALE_WRITE = "stale write"
FIGHT = "fight"
HOT_LOOP = "hot loop"
PROPERTIES = (LOST_UPDATE, VANISHED_ELEMENT, WRONG_OBJECT, BLIND_OVERWRITE, STALE_WRITE, FIGHT, HOT_LOOP)


Sentence = tuple[str | Actor, ...]


@dataclass(frozen=True, slots=True)
class Watch:
    """A client, and a resource that it may watch at a time."""

    actor: Actor
    resource: Resource
    namespace: str
    at: float
    #: Where the log has no watches at all, the client may have had one.
    strict: bool = True


@dataclass(slots=True)
class RaceFinding:
    """A violated property, with the moments that show it."""

    #: The property.
    name: str
    #: The cause, in parts: clients get their names when all of them are known.
    sentence: Sentence
    #: The writer at fault first.
    actors: tuple[Actor, ...]
    fix: Fix
    #: The moments of the trace, oldest first, and those of them that are at fault.
    moments: tuple[Moment, ...]
    culprits: tuple[Moment, ...]
    path: Path = ()
    #: The moments repeat.
    repeats: bool = False
    #: Does not hold if this client watches the resource: a watch may have delivered what it did not read.
    unless: Watch | None = None
    #: Holds in that case.
    otherwise: RaceFinding | None = None
    #: The number of times that the log shows the same.
    count: int = field(default=1, compare=False)

    @property
    def last(self) -> Moment:
        """The write at fault."""
        return self.culprits[-1]

    @property
    def cause(self) -> tuple[object, ...]:
        """The same for findings of one cause: the clients by name, the kind of object, the call and the field."""
        names = [actor.name for actor in self.actors]
        if self.repeats:  # it does not matter whose turn it was
            names.sort()
        last = self.last
        field_names = tuple(step for step in self.path if isinstance(step, str))
        return (self.name, *names, last.kind, last.verb, last.subresource, field_names)
