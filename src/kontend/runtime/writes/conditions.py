"""Conditions: a list in the status that several controllers write, each its own types.

``set_condition`` changes one type in memory. ``patch_conditions`` writes the caller's types and no others: a merge
patch sends the whole list, so the patch is locked, and when it is refused the list is read from the server (never from
the cache, which has just proved stale) and merged by type. The observed generation stays the one that the reconcile
read: to merge onto a newer object does not make the observation newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from kontend.kube.errors import Conflict, WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.conditions import find_condition, is_condition_true, without_condition
from kontend.kube.meta.names import key_of, kind_of
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.writes.snapshot import Snapshot

ConditionStatus = Literal["True", "False", "Unknown"] | bool
_STATUSES = ("True", "False", "Unknown")


def condition(type: str, status: ConditionStatus, reason: str, message: str = "") -> dict[str, Any]:
    """Return a condition as :func:`patch_conditions` takes it, without times.

    >>> condition("Ready", True, "AllUp")
    {'type': 'Ready', 'status': 'True', 'reason': 'AllUp', 'message': ''}
    """
    text = str(status) if isinstance(status, bool) else status
    if not isinstance(type, str) or not type:
        raise WrongObject(f"condition: expected a type such as 'Ready', found {type!r}")
    if text not in _STATUSES:
        raise WrongObject(f"condition {type}: expected a status of 'True', 'False' or 'Unknown', found {status!r}")
    if not isinstance(reason, str) or not reason:
        raise WrongObject(f"condition {type}: expected a reason, one CamelCase word, found {reason!r}")
    if not isinstance(message, str):
        raise WrongObject(f"condition {type}: expected a message in words, found {message!r}")
    return {"type": type, "status": text, "reason": reason, "message": message}


def get_condition(obj: Mapping[str, Any], type: str) -> dict[str, Any] | None:
    """Return the condition of a type, or None.

    >>> get_condition({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "Ready")
    {'type': 'Ready', 'status': 'True'}
    """
    return find_condition(_conditions(obj), type)


def is_true(obj: Mapping[str, Any], type: str) -> bool:
    """Return True if an object has a condition of this type with the status ``True``.

    >>> is_true({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "Ready")
    False
    """
    return is_condition_true(_conditions(obj), type)


def set_condition(
    obj: Object,
    type: str,
    status: ConditionStatus,
    reason: str,
    message: str = "",
    *,
    now: str,
    observed_generation: int | None = None,
) -> bool:
    """Set a condition in memory. Returns False if that changed nothing.

    The transition time changes only when the status does. ``observedGeneration`` is the generation of ``obj`` as it was
    read, unless given: pass it when ``obj`` has been written since, because the answer may hold a newer spec.

    >>> widget = {"metadata": {"generation": 3}}
    >>> set_condition(widget, "Ready", True, "AllUp", now="2026-01-01T00:00:00Z")
    True
    >>> set_condition(widget, "Ready", True, "AllUp", now="2026-01-02T00:00:00Z")
    False
    >>> get_condition(widget, "Ready")["lastTransitionTime"], get_condition(widget, "Ready")["observedGeneration"]
    ('2026-01-01T00:00:00Z', 3)
    """
    wanted = condition(type, status, reason, message)
    generation = observed_generation if observed_generation is not None else _generation(obj)
    if generation:
        wanted["observedGeneration"] = generation
    before = _conditions(obj)
    after = _merged(before, [wanted], now)
    if after == before:
        return False
    if obj.get("status") is None:
        obj["status"] = {}
    obj["status"]["conditions"] = after
    return True


def remove_condition(obj: Object, type: str) -> bool:
    """Remove a condition in memory. Returns False if it was not there.

    >>> widget = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    >>> remove_condition(widget, "Ready"), remove_condition(widget, "Ready")
    (True, False)
    """
    before = _conditions(obj)
    after = without_condition(before, type)
    if len(after) == len(before):
        return False
    obj["status"]["conditions"] = after
    return True


async def patch_conditions(
    api: Api, obj: Object, conditions: Iterable[Mapping[str, Any]], *, attempts: int = 5
) -> bool:
    """Write these conditions of ``obj`` and leave all others as they are. Returns False if nothing was sent.

    ``conditions`` are dicts with type, status, reason and message; times and the generation are filled in. ``obj``
    must be as it was read: conditions that are in it already are taken to be stored. When the patch is refused because
    of another writer, the conditions are merged by type into those of the server, at most ``attempts`` times in all;
    then the conflict is raised. A condition that observed a newer generation is not replaced. ``obj`` then has the
    conditions, but keeps the version that was read: the rest of it has not been read again.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Reports(Controller):
    ...     kind = "Deployment.apps/v1"
    ...     async def reconcile(self, request, api):
    ...         deployment = await api.get(self.kind, request)
    ...         await patch_conditions(api, deployment, [condition("Audited", True, "NothingFound")])
    >>> template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    >>> spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> cluster = Cluster(objects=[web])
    >>> settle(cluster, Reports())
    2
    >>> is_true(cluster.get("Deployment.apps/v1", "web"), "Audited")
    True
    """
    before = Snapshot.of(obj, "patch_conditions")
    wanted = [_complete(given, before.generation) for given in _listed(conditions)]
    now = api.now()
    base, target = before, obj
    for attempt in range(1, max(attempts, 1) + 1):
        old = _conditions(target)
        new = _merged(old, wanted, now)
        if new == old:
            break
        try:
            await api.status.patch(target, base.patch({"status": {"conditions": new}}, lock=True))
        except Conflict as refused:
            if attempt == max(attempts, 1):
                raise
            target = await api.live.get(str(kind_of(obj)), key_of(obj))
            base = Snapshot.of(target, "patch_conditions")
            if target["metadata"].get("uid") != before.content["metadata"].get("uid"):
                raise refused  # the object was deleted and created again
            continue
        if target is not obj:
            _show(obj, target)
        return True
    if target is not obj:
        _show(obj, target)
    return False


def _show(obj: Object, written: Mapping[str, Any]) -> None:
    if obj.get("status") is None:
        obj["status"] = {}
    obj["status"]["conditions"] = copy_json(_conditions(written))


def _merged(old: list[dict[str, Any]], wanted: Iterable[Mapping[str, Any]], now: str) -> list[dict[str, Any]]:
    """Return the list with each wanted condition in the place of the one of its type, or at the end."""
    merged = list(old)
    for new in wanted:
        index = next((at for at, entry in enumerate(merged) if entry.get("type") == new["type"]), None)
        if index is None:
            merged.append({**new, "lastTransitionTime": new.get("lastTransitionTime") or now})
            continue
        current = merged[index]
        if _observed(current) > _observed(new) > 0:
            continue
        changed = current.get("status") != new["status"]
        moment = (new.get("lastTransitionTime") or now) if changed else current.get("lastTransitionTime") or now
        kept = {name: value for name, value in current.items() if name != "observedGeneration"}
        merged[index] = {**kept, **new, "lastTransitionTime": moment}
    return merged


def _observed(condition: Mapping[str, Any]) -> int:
    generation = condition.get("observedGeneration")
    return generation if isinstance(generation, int) else 0


def _complete(given: Any, generation: int | None) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise WrongObject(f"patch_conditions: expected conditions, dicts with type, status and reason, found {given!r}")
    values = [given.get(name, "") for name in ("type", "status", "reason", "message")]
    wanted = condition(*values)
    if generation:
        wanted["observedGeneration"] = generation
    rest = {name: value for name, value in given.items() if name not in ("type", "status", "reason", "message")}
    return {**wanted, **rest}


def _listed(conditions: Any) -> list[Any]:
    if isinstance(conditions, (Mapping, str)) or not isinstance(conditions, Iterable):
        raise WrongObject(f"patch_conditions: expected a list of conditions, found {conditions!r}")
    return list(conditions)


def _conditions(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not isinstance(obj, Mapping):
        raise WrongObject(f"expected an object with conditions in its status, found {obj!r}")
    status = obj.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    if conditions is None:
        return []
    if not isinstance(conditions, list) or not all(isinstance(entry, dict) for entry in conditions):
        raise WrongObject(f"status.conditions: expected a list of conditions, found {conditions!r}")
    return list(conditions)


def _generation(obj: Mapping[str, Any]) -> int:
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    generation = metadata.get("generation") if isinstance(metadata, Mapping) else None
    return generation if isinstance(generation, int) else 0
