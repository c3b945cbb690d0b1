"""Perturbations and plans: what is done to a process in one run, as plain data.

Each perturbation is possible on a real cluster: processes die between two writes, responses get lost, caches lag,
users act while a controller works. A :class:`Plan` is a few of them with a one-line reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from kontend.live.gate.call import Call, Point

#: The failures that a call can be answered with, by name: the code, and the reason in the Status.
FAILURES: Final = {
    "409": (409, "Conflict"),
    "429": (429, "TooManyRequests"),
    "500": (500, "InternalError"),
    "504": (504, "Timeout"),
    "timeout": (504, "Timeout"),
}


class BadPlan(Exception):
    """A plan that cannot be read; the message names the place."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The process is killed right after a write has been committed, and started again."""

    kind: ClassVar[str] = "crash"
    at: Point

    def __str__(self) -> str:
        return f"crash after {self.at}"


@dataclass(frozen=True, slots=True)
class LoseResponse:
    """A write is committed, and the connection is closed before its response is sent."""

    kind: ClassVar[str] = "lose"
    at: Point

    def __str__(self) -> str:
        return f"lost response of {self.at}"


@dataclass(frozen=True, slots=True)
class Fail:
    """A call is answered with an error; ``timeout`` commits it first, the others do not."""

    kind: ClassVar[str] = "fail"
    at: Point
    error: str

    def __str__(self) -> str:
        how = "504 after the commit" if self.error == "timeout" else self.error
        return f"{how} for {self.at}"


@dataclass(frozen=True, slots=True)
class Act:
    """The next action of the user is taken right after a write has been committed.

    With ``unseen``, the process receives no event of the action's resource until it is idle.
    """

    kind: ClassVar[str] = "act"
    at: Point
    unseen: bool = False

    def __str__(self) -> str:
        return f"next user action right after {self.at}{', not yet in the cache' if self.unseen else ''}"


@dataclass(frozen=True, slots=True)
class Hold:
    """The process receives no events of a resource, from one action until it is idle after another.

    Action 0 is the start of the process. With ``including``, the events of the first action itself are held back too.
    ``writes``, if not 0, ends the hold earlier: when the process has made so many writes.
    """

    kind: ClassVar[str] = "hold"
    resource: str
    first: int
    last: int
    including: bool = False
    writes: int = 0

    def __str__(self) -> str:
        start = f"action {self.first}" if self.first else "the start"
        end = f"{self.writes} writes" if self.writes else f"idle after action {self.last}" if self.last else "idle"
        return f"cache of {self.resource} stale from {'' if self.including else 'after '}{start} until {end}"


@dataclass(frozen=True, slots=True)
class Skip:
    """The process misses the versions between two actions: its watch expires (410), and it lists again."""

    kind: ClassVar[str] = "skip"
    resource: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"watch of {self.resource} expires: actions {self.first} to {self.last} arrive as one"


@dataclass(frozen=True, slots=True)
class Down:
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
class Rewind:
    """The process is restarted, and its lists of a resource show the state before an earlier action.

    Only lists that allow it (``resourceVersion=0``) are served so.
    """

    kind: ClassVar[str] = "rewind"
    resource: str
    #: The process is restarted when it is idle after this action ...
    after: int
    #: ... onto the state in which so many later events of the resource are missing.
    events: int

    def __str__(self) -> str:
        return f"restart after action {self.after} onto a list of {self.resource} that is {self.events} events old"


@dataclass(frozen=True, slots=True)
class Delay:
    """A write takes long: it is carried out when the process has nothing else to do."""

    kind: ClassVar[str] = "delay"
    at: Point

    def __str__(self) -> str:
        return f"{self.at} takes long"


@dataclass(frozen=True, slots=True)
class HandOver:
    """A write is delayed while another instance takes over; it arrives when that one is idle after an action."""

    kind: ClassVar[str] = "hand-over"
    at: Point
    #: How many actions are taken before the delayed write arrives.
    actions: int = 0

    def __str__(self) -> str:
        then = f" and {self.actions} user action{'s'[: self.actions > 1]}" if self.actions else ""
        return f"{self.at} delayed until another instance has taken over{then}"


Perturbation = Crash | LoseResponse | Fail | Act | Hold | Skip | Down | Rewind | Delay | HandOver
_KINDS: Final[dict[str, type[Any]]] = {
    each.kind: each for each in (Crash, LoseResponse, Fail, Act, Hold, Skip, Down, Rewind, Delay, HandOver)
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Perturbations of one run and the reason for them.

    >>> plan = Plan((Crash(Point(Call("create", "configmaps", "default", "c"))),), "the next write may be missing")
    >>> plan.name, plan_of(plan.to_json()) == plan
    ('crash after create configmaps default/c', True)
    """

    perturbations: tuple[Perturbation, ...]
    reason: str = ""

    @property
    def name(self) -> str:
        """The perturbations in words."""
        return "; ".join(map(str, self.perturbations)) or "unperturbed"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"reason": self.reason, "perturbations": [_to_json(each) for each in self.perturbations]}


def _to_json(perturbation: Perturbation) -> dict[str, Any]:
    document: dict[str, Any] = {"do": perturbation.kind}
    for each in fields(perturbation):
        value = getattr(perturbation, each.name)
        document[each.name] = value.to_json() if isinstance(value, Point) else value
    return document


def plan_of(document: Any) -> Plan:
    """Read a plan; raises :class:`BadPlan`."""
    if not isinstance(document, Mapping) or not isinstance(document.get("perturbations"), list):
        raise BadPlan("expected a mapping with a list of perturbations")
    perturbations = tuple(_perturbation_of(each, index) for index, each in enumerate(document["perturbations"]))
    return Plan(perturbations, str(document.get("reason", "")))


def _perturbation_of(document: Any, index: int) -> Perturbation:
    where = f"perturbations[{index}]"
    if not isinstance(document, Mapping) or document.get("do") not in _KINDS:
        raise BadPlan(f"{where}.do: expected one of {', '.join(_KINDS)}")
    kind = _KINDS[document["do"]]
    values = {name: value for name, value in document.items() if name != "do"}
    types = {each.name: str(each.type) for each in fields(kind)}
    unknown = sorted(set(values) - set(types))
    if unknown:
        raise BadPlan(f"{where}: {document['do']} has no field {', '.join(unknown)}")
    if "at" in values:
        values["at"] = _point_of(values["at"], f"{where}.at")
    if kind is Fail and str(values.get("error")) not in FAILURES:
        raise BadPlan(f"{where}.error: expected one of {', '.join(FAILURES)}")
    for name, value in values.items():
        if not isinstance(value, {"int": int, "bool": bool, "str": str}.get(types[name], object)):
            raise BadPlan(f"{where}.{name}: expected {types[name]}, found {value!r}")
    try:
        perturbation: Perturbation = kind(**values)
    except TypeError as error:
        missing = str(error).partition(": ")[2] or str(error)
        raise BadPlan(f"{where}: missing {missing}") from None
    return perturbation


def _point_of(document: Any, where: str) -> Point:
    if not isinstance(document, Mapping) or not {"verb", "resource"} <= set(document):
        raise BadPlan(f"{where}: expected a call with verb and resource")
    texts = {name: value for name, value in document.items() if name != "nth"}
    nth = document.get("nth", 1)
    if not all(isinstance(value, str) for value in texts.values()) or not isinstance(nth, int) or nth < 1:
        raise BadPlan(f"{where}: expected texts, and nth from 1")
    try:
        return Point(Call(**texts), nth)
    except TypeError:
        raise BadPlan(f"{where}: expected verb, resource, namespace, name, subresource and nth") from None
