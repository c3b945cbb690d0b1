"""Translates kamera's input files into scenarios and plans.

Names that kamera does not check, of kinds above all, are resolved or refused. Settings that have no counterpart are
left out, each with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.explore.problems import BadScenario, not_among
from kontend.kube.meta.names import kind_of

_LEFT_OUT: Final = {
    "maxDepth": "a state is never visited twice, so a search needs no depth",
    "staleReads": "every stale read within `lag` is tried without a plan",
    "staleLookback": "every stale read within `lag` is tried without a plan",
}
_TUNING: Final = (
    "permuteControllers", "permuteDepthRange", "permuteAfterEvent", "userActionReadyDepths", "stalenessIntervals",
    "faultInjection", "search", *_LEFT_OUT,
)  # fmt: skip


def translated(
    document: Any, controllers: Mapping[str, str], kinds: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """A scenario file, and notes on what was left out.

    ``controllers`` are import paths by kamera's names, ``kinds`` are kinds (``Widget.example.com/v1``) by its names.
    """
    if not isinstance(document, list) or not all(isinstance(scenario, Mapping) for scenario in document):
        raise BadScenario("expected kamera's input: a list of scenarios")
    notes: list[str] = []
    return {"scenarios": [_scenario(scenario, controllers, kinds, notes) for scenario in document]}, notes


def _scenario(
    document: Mapping[str, Any], controllers: Mapping[str, str], kinds: Mapping[str, str], notes: list[str]
) -> dict[str, Any]:
    name = str(document.get("name") or "scenario")
    objects = [dict(obj) for obj in (document.get("environmentState") or {}).get("objects") or []]
    inputs = document.get("externalInputs") or document.get("userInputs") or []
    actions = []
    for at, given in enumerate(inputs):
        verb = str(given.get("opType", "")).lower()
        if verb not in ("create", "update", "delete"):
            raise BadScenario(
                f"{name}: externalInputs[{at}]: {not_among('opType', verb, ('CREATE', 'UPDATE', 'DELETE'))}"
            )
        actions.append({verb: given["object"]})
    known = _kinds([*objects, *(obj for action in actions for obj in action.values())], kinds)
    tuning = document.get("tuning") or {}
    for field in tuning:
        if field not in _TUNING:
            raise BadScenario(f"{name}: tuning: {not_among('field', str(field), _TUNING)}")
        if field in _LEFT_OUT:
            notes.append(f"{name}: {field} is left out: {_LEFT_OUT[field]}")
    plan = _named(_plan(name, tuning, known, notes), controllers)
    return {
        "name": name,
        "controllers": list(controllers.values()),
        "objects": objects,
        "actions": actions,
        "guards": dict.fromkeys(
            ("read_your_writes", "delete_preconditions", "locked_status", "monotonic_views", "fencing"), False
        ),
        "plan": plan,
    }


def _plan(name: str, tuning: Mapping[str, Any], kinds: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    plan: dict[str, Any] = {}
    for field in ("permuteControllers", "permuteDepthRange"):
        if tuning.get(field):
            plan[field] = tuning[field]
    if tuning.get("userActionReadyDepths"):
        plan["userActionReadyDepths"] = {int(at): depth for at, depth in tuning["userActionReadyDepths"].items()}
    if tuning.get("permuteAfterEvent"):
        event = tuning["permuteAfterEvent"]
        plan["permuteAfterEvent"] = {"opType": event["opType"], "kind": _kind(name, event["kind"], kinds)}
    intervals = []
    for stale in tuning.get("stalenessIntervals") or []:
        interval = {field: stale[field] for field in ("reconciler", "staleAt", "catchUpAt", "lag") if field in stale}
        intervals.append({**interval, "kind": _kind(name, stale["kind"], kinds)})
        if stale.get("freezeAt"):
            notes.append(f"{name}: freezeAt is left out: a view is frozen at what it shows when it gets stale")
    if intervals:
        plan["stalenessIntervals"] = intervals
    faults = []
    for fault in tuning.get("faultInjection") or []:
        wanted = ("reconciler", "crashAfterEffect", "triggerOnce", "triggerAfterDepth")
        faults.append({field: fault[field] for field in wanted if field in fault})
        if fault.get("recoverAtDepth"):
            notes.append(f"{name}: recoverAtDepth is left out: kamera does not use it either")
    if faults:
        plan["faultInjection"] = faults
    search = tuning.get("search") or {}
    if search.get("mode") == "monte_carlo":
        options = search.get("monteCarlo") or {}
        plan["search"] = {"search": "random", "seed": options.get("seed", 0), "walks": options.get("trials", 1_000)}
    return plan


def _named(plan: dict[str, Any], controllers: Mapping[str, str]) -> dict[str, Any]:
    """The plan with the names that controllers have here: that of their class, in small letters."""
    names = {there: path.rpartition(":")[2].lower() for there, path in controllers.items()}
    for field in ("stalenessIntervals", "faultInjection"):
        for entry in plan.get(field, []):
            entry["reconciler"] = names.get(entry["reconciler"], entry["reconciler"])
    if "permuteControllers" in plan:
        plan["permuteControllers"] = [names.get(controller, controller) for controller in plan["permuteControllers"]]
    return plan


def _kinds(objects: Sequence[Mapping[str, Any]], given: Mapping[str, str]) -> dict[str, str]:
    """Kinds by the names that kamera may use: ``group/Kind``, and (which it ignores silently) ``Kind`` alone."""
    known: dict[str, str] = {}
    for obj in objects:
        kind = kind_of(obj)
        known[f"{kind.group or 'core'}/{kind.kind}"] = known[kind.kind] = str(kind)
    return {**known, **given}


def _kind(name: str, kind: str, known: Mapping[str, str]) -> str:
    if kind not in known:
        hint = "say which version: --kind GROUP/KIND=KIND.GROUP/VERSION"
        raise BadScenario(f"{name}: {not_among('kind', kind, known)}; {hint}")
    return known[kind]
