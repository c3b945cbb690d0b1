"""Plan files: the perturbations of one run, as data.

A plan says at which moments views are stale, controllers crash, users act and orders are permuted. Everything else
runs in a fixed order, unperturbed. The depth of a run is the number of reconciles that have started; its sequence is
the number of writes since the beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from kontend.explore.problems import BadScenario, not_among
from kontend.explore.sources.yaml_file import read_yaml

OpType = Literal["CREATE", "UPDATE", "DELETE"]
#: The end of an interval that does not end.
FOREVER: Final = -1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class AfterEvent:
    """The moment after the first write of this kind."""

    opType: OpType
    kind: str


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths from ``min`` to ``max``, both included."""

    min: int = 0
    max: int = 1_000_000


@dataclass(frozen=True, slots=True)
class StalenessInterval:
    """A view that is stale while the sequence is between ``staleAt`` and ``catchUpAt`` (-1: for good)."""

    reconciler: str
    kind: str
    staleAt: int
    catchUpAt: int = FOREVER
    #: The number of events that the view is behind; -1 for a view that is frozen.
    lag: int = -1


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """A crash of a controller right after a number of writes of one reconcile."""

    reconciler: str
    crashAfterEffect: int
    triggerOnce: bool = True
    triggerAfterDepth: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The perturbations of one run."""

    permuteControllers: Sequence[str] = ()
    permuteAfterEvent: AfterEvent | None = None
    permuteDepthRange: DepthRange | None = None
    stalenessIntervals: Sequence[StalenessInterval] = ()
    #: By the position of an action, the depth at which the user takes it; the others are taken at rest.
    userActionReadyDepths: Mapping[int, int] = field(default_factory=dict)
    faultInjection: Sequence[FaultInjection] = ()
    #: Options of the search: ``search`` (breadth, depth, random, pct), ``seed``, ``walks``.
    search: Mapping[str, Any] = field(default_factory=dict)


def load_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    return plan_of(read_yaml(path) or {}, str(path))


def plan_of(document: Any, where: str) -> Plan:
    """A plan from plain data. Raises :class:`BadScenario` for unknown names and wrong types."""
    values = _mapping(document, where, Plan)
    for name, cls in (("stalenessIntervals", StalenessInterval), ("faultInjection", FaultInjection)):
        items = values.get(name, [])
        if not isinstance(items, list):
            raise BadScenario(f"{where}: {name}: expected a list, found {items!r}")
        values[name] = tuple(_made(cls, item, f"{where}: {name}[{at}]") for at, item in enumerate(items))
    moments: tuple[tuple[str, type], ...] = (("permuteAfterEvent", AfterEvent), ("permuteDepthRange", DepthRange))
    for name, moment in moments:
        if values.get(name) is not None:
            values[name] = _made(moment, values[name], f"{where}: {name}")
    controllers = values.get("permuteControllers", [])
    if not isinstance(controllers, list) or not all(isinstance(controller, str) for controller in controllers):
        raise BadScenario(f"{where}: permuteControllers: expected a list of names, found {controllers!r}")
    values["permuteControllers"] = tuple(controllers)
    depths = values.get("userActionReadyDepths") or {}
    try:
        values["userActionReadyDepths"] = {int(at): int(depth) for at, depth in depths.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadScenario(f"{where}: userActionReadyDepths: expected depths by position, found {depths!r}") from None
    search = values.get("search") or {}
    if not isinstance(search, Mapping) or set(search) - {"search", "seed", "walks"}:
        raise BadScenario(f"{where}: search: expected search, seed and walks, found {search!r}")
    plan = Plan(**values)
    if plan.permuteAfterEvent is not None and plan.permuteAfterEvent.opType not in get_args(OpType):
        raise BadScenario(f"{where}: {not_among('opType', plan.permuteAfterEvent.opType, get_args(OpType))}")
    return plan


def check_plan(plan: Plan, kinds: Mapping[str, Collection[str]], actions: int) -> None:
    """Refuse names that the scenario does not have. ``kinds`` are those that each controller reads, by its name."""
    named = [
        *(("permuteControllers", name) for name in plan.permuteControllers),
        *(("stalenessIntervals", interval.reconciler) for interval in plan.stalenessIntervals),
        *(("faultInjection", fault.reconciler) for fault in plan.faultInjection),
    ]
    for where, name in named:
        if name not in kinds:
            raise BadScenario(f"{where}: {not_among('controller', name, kinds)}")
    for interval in plan.stalenessIntervals:
        known = kinds[interval.reconciler]
        if interval.kind not in known:
            raise BadScenario(f"stalenessIntervals: {interval.reconciler}: {not_among('kind', interval.kind, known)}")
        if interval.catchUpAt != FOREVER and interval.catchUpAt <= interval.staleAt:
            raise BadScenario(f"stalenessIntervals: {interval.kind}: catchUpAt must be after staleAt, or {FOREVER}")
    if plan.permuteAfterEvent is not None:
        every = sorted({kind for known in kinds.values() for kind in known})
        if plan.permuteAfterEvent.kind not in every:
            raise BadScenario(f"permuteAfterEvent: {not_among('kind', plan.permuteAfterEvent.kind, every)}")
    for at in plan.userActionReadyDepths:
        if not 0 <= at < actions:
            raise BadScenario(f"userActionReadyDepths: there is no action {at}; there are {actions}, from 0")


def _mapping(document: Any, where: str, cls: type) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise BadScenario(f"{where}: expected fields and values, found {document!r}")
    names = [field.name for field in fields(cls)]
    for name in document:
        if name not in names:
            raise BadScenario(f"{where}: {not_among('field', str(name), names)}")
    return dict(document)


def _made(cls: type[_T], document: Any, where: str) -> _T:
    values = _mapping(document, where, cls)
    for attribute in fields(cls):  # type: ignore[arg-type]
        wanted = {"int": int, "bool": bool}.get(str(attribute.type), str)
        value = values.get(attribute.name, 0 if wanted is int else wanted())
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise BadScenario(f"{where}: {attribute.name}: expected a value of type {wanted.__name__}, found {value!r}")
    try:
        return cls(**values)
    except TypeError:
        missing = [attribute.name for attribute in fields(cls) if attribute.name not in values]  # type: ignore[arg-type]
        raise BadScenario(f"{where}: fields are missing, of: {', '.join(missing)}") from None
