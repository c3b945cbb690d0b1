"""Plans: a few perturbations of one run, with a one-line reason; and plan files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Final

from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import FAILURES, KINDS, Fail, HandOver, Perturbation

_TYPES: Final = {"int": int, "bool": bool, "str": str}


class BadPlan(Exception):
    """A plan that cannot be read; the message names the place."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Perturbations of one run and the reason for them.

    >>> from kontend.live.gate.perturbation import Crash
    >>> plan = Plan((Crash(Point(Call("create", "configmaps", "default", "c"))),), "the next write may be missing")
    >>> plan.name, plan_of(plan.to_json()) == plan
    ('crash after create configmaps default/c', True)
    """

    perturbations: tuple[Perturbation, ...]
    reason: str = ""
    #: The number of actions after which the user stops; None takes all.
    actions: int | None = None

    @property
    def name(self) -> str:
        """The perturbations in words."""
        words = "; ".join(map(str, self.perturbations)) or "unperturbed"
        return words if self.actions is None else f"{words}; no user action after number {self.actions}"

    @property
    def hands_over(self) -> bool:
        """Return whether another instance takes over."""
        return any(isinstance(each, HandOver) for each in self.perturbations)

    def to_json(self) -> dict[str, Any]:
        """Return it as a plan file has it."""
        document = {
            "reason": self.reason,
            "perturbations": [perturbation.to_json() for perturbation in self.perturbations],
        }
        return document if self.actions is None else {**document, "actions": self.actions}


def plan_of(document: Any) -> Plan:
    """Read a plan; raises :class:`BadPlan`."""
    if not isinstance(document, Mapping) or not isinstance(document.get("perturbations"), list):
        raise BadPlan("expected a mapping with a list of perturbations")
    unknown = sorted(map(str, set(document) - {"perturbations", "reason", "actions"}))
    if unknown:
        raise BadPlan(f"there is no field {', '.join(unknown)}; there are perturbations, reason and actions")
    actions = document.get("actions")
    if actions is not None and (not _is(actions, int) or actions < 0):
        raise BadPlan(f"actions: expected a number from 0, found {actions!r}")
    perturbations = tuple(_perturbation_of(item, index) for index, item in enumerate(document["perturbations"]))
    return Plan(perturbations, str(document.get("reason", "")), actions)


def _perturbation_of(document: Any, index: int) -> Perturbation:
    where = f"perturbations[{index}]"
    if not isinstance(document, Mapping) or document.get("do") not in KINDS:
        raise BadPlan(f"{where}.do: expected one of {', '.join(KINDS)}")
    kind = KINDS[document["do"]]
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(str(name) for name in document if name != "do" and name not in known)
    if unknown:
        raise BadPlan(f"{where}: {document['do']} has no field {', '.join(unknown)}")
    missing = [name for name, parameter in known.items() if name not in document and parameter.default is MISSING]
    if missing:
        raise BadPlan(f"{where}: {document['do']} needs {', '.join(missing)}")
    values = {name: _value_of(known[name], value, where) for name, value in document.items() if name != "do"}
    if kind is Fail and values["error"] not in FAILURES:
        raise BadPlan(f"{where}.error: expected one of {', '.join(FAILURES)}")
    return kind(**values)


def _value_of(field: Field[Any], value: Any, where: str) -> Any:
    if field.name == "at":
        return _point_of(value, f"{where}.at")
    if field.name == "error":  # a bare 409 in YAML is a number
        value = str(value)
    if not _is(value, _TYPES[str(field.type)]):
        raise BadPlan(f"{where}.{field.name}: expected {field.type}, found {value!r}")
    if _is(value, int) and value < 0:
        raise BadPlan(f"{where}.{field.name}: expected a number from 0, found {value!r}")
    return value


def _is(value: Any, kind: type) -> bool:
    """True is no number here."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _point_of(document: Any, where: str) -> Point:
    if not isinstance(document, Mapping) or not {"verb", "resource"} <= set(document):
        raise BadPlan(f"{where}: expected a call with verb and resource")
    texts = {name: value for name, value in document.items() if name != "nth"}
    nth = document.get("nth", 1)
    if not all(isinstance(value, str) for value in texts.values()) or not _is(nth, int) or nth < 1:
        raise BadPlan(f"{where}: expected texts, and nth from 1")
    try:
        return Point(Call(**texts), nth)
    except TypeError:
        raise BadPlan(f"{where}: expected verb, resource, namespace, name, subresource and nth") from None
