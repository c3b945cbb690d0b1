"""Records of a run: every request and every delivered event of every process, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.cluster.state import Change, State
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import Perturbation

#: A version of an object that a process has been sent: resource, key, resourceVersion.
Sent = tuple[str, Key, int]


@dataclass(slots=True)
class Request:
    """One request of a process."""

    number: int
    process: str
    call: Call
    #: Seconds since the run began.
    arrived: float
    #: The user's actions taken before it.
    action: int
    #: The key of the object it is about, with its real name.
    key: Key
    code: int = 0
    message: str = ""
    #: The states between which its write was committed.
    before: State | None = None
    after: State | None = None
    #: The events that the process had been sent when it sent its write.
    received: frozenset[Sent] = frozenset()
    #: The versions that its answer has shown.
    shown: tuple[Sent, ...] = ()
    #: It lists, and allows an answer that is not the latest (``resourceVersion=0``).
    may_be_old: bool = False
    #: It names the version that it changes.
    locked: bool = False
    #: What the gate has done to it.
    perturbation: Perturbation | None = None
    #: It was not carried out, because a perturbation of an earlier call kills the process.
    dropped: bool = False

    @property
    def perturbed(self) -> str:
        """The perturbation in words; empty if there was none."""
        if self.dropped:
            return "not carried out: the process is killed"
        return str(self.perturbation) if self.perturbation is not None else ""

    @property
    def changes(self) -> list[Change]:
        """The changes that it has made."""
        if self.before is None or self.after is None:
            return []
        return self.after.changes_since(self.before.resource_version)

    @property
    def changed(self) -> bool:
        """Return whether it has changed something."""
        return bool(self.before and self.after and self.after.resource_version > self.before.resource_version)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Events of one watch that a process has been sent together."""

    process: str
    resource: str
    versions: tuple[Sent, ...]
    arrived: float
    action: int


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that kontend or the user did: a start, a crash, an action."""

    process: str
    action: str
    text: str
    arrived: float
    #: The number of the user's action, for ``act``.
    number: int = 0
    before: State | None = None
    after: State | None = None


Record = Request | Delivery | Happening


@dataclass(slots=True)
class Log:
    """All records of a run."""

    records: list[Record] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Append a record."""
        self.records.append(record)

    def requests(self) -> Iterator[Request]:
        """The requests, in the order of their arrival."""
        return (record for record in self.records if isinstance(record, Request))

    def writes(self) -> list[Request]:
        """Return the requests that have changed something that counts."""
        return [request for request in self.requests() if request.call.writes and request.changed]
