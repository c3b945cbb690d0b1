"""Perturbations: what is done to a process in a run, as plain data.

Each is possible on a real cluster: processes die between two writes, responses get lost, caches lag, users act while a
controller works. Some apply at a :class:`~kontend.live.gate.call.Point`, the others between or during phases.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from kontend.live.gate.call import Point

#: The failure of a write that names a version which is not the latest.
CONFLICT: Final = "409"
#: The annotation by which another writer makes a version that the process does not know. Final states ignore it.
TOUCHED: Final = "kontend.dev/touched"
#: The failures that a call can be answered with, by name: the code, and the reason in the Status.
FAILURES: Final = {
    "409": (409, "Conflict"),
    "429": (429, "TooManyRequests"),
    "500": (500, "InternalError"),
    "504": (504, "Timeout"),
    "timeout": (504, "Timeout"),
}


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One perturbation; its class has a name for plan files, and words with its fields in braces."""

    kind: ClassVar[str]
    words: ClassVar[str]

    def __str__(self) -> str:
        return self.words.format(**{field.name: getattr(self, field.name) for field in fields(self)})

    def to_json(self) -> dict[str, Any]:
        """Return it as a plan file has it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value.to_json() if isinstance(value, Point) else value for name, value in values.items()}
        return {"do": self.kind, **plain}


@dataclass(frozen=True, slots=True)
class AtPoint(Perturbation):
    """A perturbation of one call: as it arrives, or when it has been committed."""

    at: Point

    @property
    def on_arrival(self) -> bool:
        """Return whether it applies before the call is carried out."""
        return False


@dataclass(frozen=True, slots=True)
class Crash(AtPoint):
    """The process is killed right after a write has been committed, and started again.

    With ``answered``, it has received the response: it is killed when it makes its next write, which is not carried
    out, or when it is idle.
    """

    kind: ClassVar[str] = "crash"
    answered: bool = False

    def __str__(self) -> str:
        return f"crash after {'the response of ' if self.answered else ''}{self.at}"


@dataclass(frozen=True, slots=True)
class LoseResponse(AtPoint):
    """A write is committed, and the connection is closed before its response is sent."""

    kind: ClassVar[str] = "lose"
    words: ClassVar[str] = "lost response of {at}"


@dataclass(frozen=True, slots=True)
class Fail(AtPoint):
    """A call is answered with an error; ``timeout`` commits it first, the others do not.

    With ``times``, so are its repetitions, until the process is idle: as by a cache that stays stale for a while, or a
    server that is down for a moment.
    """

    kind: ClassVar[str] = "fail"
    error: str
    times: int = 1

    @property
    def on_arrival(self) -> bool:
        """Return whether the call is refused before it is carried out."""
        return self.error != "timeout"

    def __str__(self) -> str:
        often = f" {self.times} times" if self.times > 1 else ""
        return f"{self.error if self.on_arrival else '504 after the commit'}{often} for {self.at}"


@dataclass(frozen=True, slots=True)
class Act(AtPoint):
    """The next action of the user is taken right after a write has been committed.

    With ``unseen``, the process receives no event of the action's resource until it is idle.
    """

    kind: ClassVar[str] = "act"
    unseen: bool = False

    def __str__(self) -> str:
        return f"next user action right after {self.at}{', not yet in the cache' if self.unseen else ''}"


@dataclass(frozen=True, slots=True)
class Delay(AtPoint):
    """A write takes long: it is carried out when the process has nothing else to do."""

    kind: ClassVar[str] = "delay"
    words: ClassVar[str] = "{at} takes long"

    @property
    def on_arrival(self) -> bool:
        """Return True: the call waits."""
        return True


@dataclass(frozen=True, slots=True)
class HandOver(AtPoint):
    """A write is delayed while another instance takes over; it arrives when that one is idle after some actions."""

    kind: ClassVar[str] = "hand-over"
    #: The number of actions that are taken before the delayed write arrives.
    actions: int = 0

    @property
    def on_arrival(self) -> bool:
        """Return True: the call waits."""
        return True

    def __str__(self) -> str:
        then = f" and {self.actions} user action{'s'[: self.actions > 1]}" if self.actions else ""
        return f"{self.at} delayed until another instance has taken over{then}"


@dataclass(frozen=True, slots=True)
class Ask(AtPoint):
    """The process is asked for its stacks as a call arrives, and the run ends. Plans do not have it."""

    kind: ClassVar[str] = "ask"
    words: ClassVar[str] = "stacks at {at}"

    @property
    def on_arrival(self) -> bool:
        """Return True: the call waits for ever."""
        return True


@dataclass(frozen=True, slots=True)
class Hold(Perturbation):
    """The process receives no events of a resource, from one action until it is idle after another.

    Action 0 is the start of the process. With ``including``, the events of the first action itself are held back too.
    ``writes``, if not 0, ends the hold earlier: when the process has made that number of writes.
    """

    kind: ClassVar[str] = "hold"
    resource: str
    first: int
    last: int
    including: bool = False
    writes: int = 0

    def __str__(self) -> str:
        start = f"action {self.first}" if self.first else "the start"
        writes = f"{self.writes} write{'s'[: self.writes > 1]}"
        end = writes if self.writes else f"idle after action {self.last}" if self.last else "idle"
        return f"cache of {self.resource} stale from {'' if self.including else 'after '}{start} until {end}"


@dataclass(frozen=True, slots=True)
class Skip(Perturbation):
    """The process misses the versions between two actions: its watch expires (410), and it lists again."""

    kind: ClassVar[str] = "skip"
    words: ClassVar[str] = "watch of {resource} expires: actions {first} to {last} arrive as one"
    resource: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Down(Perturbation):
    """The process is down while some actions are taken; with ``last`` before ``first``, it is only restarted."""

    kind: ClassVar[str] = "down"
    first: int
    last: int

    def __str__(self) -> str:
        if self.last < self.first:
            return f"restart after action {self.last}" if self.last else "restart after the start"
        many = f"actions {self.first} to {self.last}" if self.last > self.first else f"action {self.first}"
        return f"down during {many}"


@dataclass(frozen=True, slots=True)
class Rewind(Perturbation):
    """The process is restarted, and its lists of a resource show the state before an earlier action.

    Only lists that allow it (``resourceVersion=0``) are served so.
    """

    kind: ClassVar[str] = "rewind"
    resource: str
    #: The process is restarted when it is idle after this action ...
    after: int
    #: ... onto the state in which this number of later events of the resource is missing.
    events: int
    #: Only events count that create or delete an object, begin to, or change its spec.
    changes: bool = False

    def __str__(self) -> str:
        age = f"{self.events} {'change' if self.changes else 'event'}{'s'[: self.events > 1]}"
        return f"restart after action {self.after} onto a list of {self.resource} that is {age} old"


KINDS: Final[dict[str, type[Perturbation]]] = {
    cls.kind: cls for cls in (Crash, LoseResponse, Fail, Act, Hold, Skip, Down, Rewind, Delay, HandOver)
}
