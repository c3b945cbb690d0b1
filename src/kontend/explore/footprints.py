"""What controllers and properties touch, as far as it is known: which kinds they read from the server, write, look at.

What a controller will do is not known before it has done it. So the search goes by what was seen so far, and whoever
relied on somebody not touching a kind is told when that turns out to be wrong: the search begins again then, knowing
more. What was worked out is kept, so that costs little, and it ends, for there are only so many kinds.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from kontend.cluster.cluster import Cluster
from kontend.cluster.resources import Resource
from kontend.cluster.state import State
from kontend.runtime.client.call import Call


@dataclass(slots=True)
class Footprints:
    """Kinds (as resources) by the number of the controller that touches them."""

    reads: dict[int, set[str]] = field(default_factory=dict)
    writes: dict[int, set[str]] = field(default_factory=dict)
    #: What properties look at; ``*`` for everything.
    seen: set[str] = field(default_factory=set)

    def note(self, controller: int, call: Call, resource: str) -> None:
        """A call that a controller makes."""
        (self.writes if call.writes else self.reads).setdefault(controller, set()).add(resource)

    def merge(self, other: Footprints) -> set[str]:
        """Learn what another one knows; returns the kinds that are news, and whose reads are (:func:`reads_of`)."""
        news: set[str] = set()
        for mine, theirs in ((self.reads, other.reads), (self.writes, other.writes)):
            for controller, kinds in theirs.items():
                known = mine.setdefault(controller, set())
                if kinds - known and mine is self.reads:
                    news.add(reads_of(controller))
                news |= kinds - known
                known |= kinds
        news |= other.seen - self.seen
        self.seen |= other.seen
        return news

    def is_written_by_others(self, controller: int, resource: str) -> bool:
        """Whether another controller writes a kind."""
        return any(resource in kinds for other, kinds in self.writes.items() if other != controller)

    def is_read_by_others(self, controller: int, resource: str) -> bool:
        """Whether another controller reads a kind from the server."""
        return any(resource in kinds for other, kinds in self.reads.items() if other != controller)

    def is_seen(self, resource: str) -> bool:
        """Whether a property looks at a kind."""
        return "*" in self.seen or resource in self.seen


def reads_of(controller: int) -> str:
    """What stands for all that a controller reads."""
    return f"reads of {controller}"


class Looked(Cluster):
    """A cluster that notes which kinds it is asked for."""

    def __init__(self, state: State, seen: set[str]) -> None:
        self.manager = ""
        self.warnings = []
        self._kept = state
        self._seen = seen

    @property
    def state(self) -> State:
        """The state; whoever takes it as it is may look at everything."""
        if not sys._getframe(1).f_globals.get("__name__", "").startswith("kontend.cluster"):
            self._seen.add("*")
        return self._kept

    @state.setter
    def state(self, state: State) -> None:
        self._kept = state

    def _resource(self, kind: str) -> Resource:
        resource = super()._resource(kind)
        self._seen.add(resource.key)
        return resource
