"""Deleting objects: preconditions, finalizers, grace periods and propagation.

A delete either removes the object at once, or marks it: with a deletionTimestamp when finalizers hold it or the kind
dies gracefully. Propagation policies become finalizers (``orphan``, ``foregroundDeletion``) that the garbage collector
takes away. Namespaces have rules of their own: they turn ``Terminating`` and wait for their content to go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kontend.cluster.admission import chain as admission
from kontend.cluster.options import DeleteOptions, ListOptions, WriteOptions
from kontend.cluster.request import Target
from kontend.cluster.request_text import stored_text
from kontend.cluster.state import State, Version
from kontend.cluster.storage import encoded, read_back
from kontend.cluster.times import rfc3339, seconds
from kontend.cluster.verbs.read import list_objects
from kontend.kube.encoding.raw_json import with_texts
from kontend.kube.errors import Conflict, Forbidden, conflict, forbidden, not_found

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
#: The resource of CustomResourceDefinitions, and the finalizer that holds one until its objects are gone.
DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
#: Resources whose registry deletes in its own way, and checks preconditions in its own words.
_OWN_DELETION: Final = ("namespaces", DEFINITIONS)
_UNDYING: Final = ("default", "kube-system", "kube-public")


def delete(state: State, target: Target, options: DeleteOptions) -> tuple[State, dict[str, Any], int]:
    """Delete one object. Returns what the server answers (the object, or a Status) and the code."""
    resource = target.resource
    version = state.find(resource.key, target.key)
    if resource.key == "namespaces" and target.name in _UNDYING:
        raise _undying(target)
    if version is None:
        raise not_found(resource.group, resource.plural, target.name)
    target.options = WriteOptions(dry_run=options.dry_run)
    check_preconditions(target, version, options)
    if resource.key == "namespaces":
        outcome = _terminate_namespace(state, target, version, options)
        if outcome is not None:
            return *outcome, 200
    if resource.key == DEFINITIONS and "deletionTimestamp" not in version.content()["metadata"]:
        return *_terminate_definition(state, target, version), 200
    return _delete_object(state, target, version, options)


def delete_collection(
    state: State, target: Target, options: DeleteOptions, selection: ListOptions
) -> tuple[State, dict[str, Any]]:
    """Delete all objects that a list would return. Returns that list."""
    listed = list_objects(state, target, selection)
    for obj in listed["items"]:
        metadata = obj["metadata"]
        one = replace(target, name=metadata["name"], namespace=metadata.get("namespace", ""))
        if state.find(target.resource.key, one.key) is not None:
            state, _, _ = delete(state, one, options)
    return state, listed


def _delete_object(
    state: State, target: Target, version: Version, options: DeleteOptions
) -> tuple[State, dict[str, Any], int]:
    resource, key = target.resource, target.key
    obj = version.content()
    metadata = obj["metadata"]
    admission.admit(state, target, None, obj)
    admission.validate(state, target, None, obj)
    grace = resource.strategy.grace_period(obj, _requested_grace(options))
    graceful = False
    if grace is not None:
        pending, graceful = _begin_grace(state, metadata, grace, options)
        if pending:
            return state, _answer(target, read_back(resource, version)), _code(options)
    finalizers = _finalizers(target, metadata, options)
    changed = set(finalizers) != set(metadata.get("finalizers") or ())
    if changed:
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
    if finalizers and not graceful:
        _mark(state, metadata)
    answer = read_back(resource, version)
    if graceful or finalizers:
        answer, state, version = _write(state, target, obj, version)
        if finalizers or (grace or 0) > 0:
            return state, answer, _code(options)
    if not options.dry_run:
        state = state.remove(resource.key, key)
        answer["metadata"]["resourceVersion"] = str(state.resource_version)
    return state, _answer(target, answer), 200


def _write(
    state: State, target: Target, obj: dict[str, Any], version: Version
) -> tuple[dict[str, Any], State, Version]:
    """Store the marked object, unless nothing changed or this is a dry run."""
    resource = target.resource
    with_texts(obj, stored_text(resource, version.body))
    body = encoded(resource, obj)
    if body == version.body:
        return read_back(resource, version), state, version
    if target.options.dry_run:
        marked = Version(body, version.managed, version.resource_version)
        return read_back(resource, marked), state, version
    state, version = state.write(resource.key, target.key, body, version.managed)
    return read_back(resource, version), state, version


def _requested_grace(options: DeleteOptions) -> int | None:
    period = options.grace_period_seconds
    return 1 if period is not None and period < 0 else period


def _begin_grace(state: State, metadata: dict[str, Any], grace: int, options: DeleteOptions) -> tuple[bool, bool]:
    """Start or shortens a graceful deletion in place; return (it is already under way, the object was marked)."""
    if metadata.get("deletionTimestamp") is None:
        metadata["deletionTimestamp"] = rfc3339(state.now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
        return False, True
    current = metadata.get("deletionGracePeriodSeconds") or 0
    if current == 0:
        return False, False
    wanted = _requested_grace(options)
    if wanted is None or wanted >= current:
        return True, False
    moment = seconds(metadata["deletionTimestamp"]) - current + wanted
    if moment < state.now:
        moment = state.now
        wanted = 1 if wanted != 0 else 0
    metadata["deletionTimestamp"] = rfc3339(moment)
    metadata["deletionGracePeriodSeconds"] = wanted
    return False, True


def _mark(state: State, metadata: dict[str, Any]) -> None:
    """Mark an object that its finalizers hold as being deleted."""
    existing = metadata.get("deletionTimestamp")
    if existing is None and metadata.get("generation"):
        metadata["generation"] += 1
    if existing is None or seconds(existing) > state.now:
        metadata["deletionTimestamp"] = rfc3339(state.now)
    metadata["deletionGracePeriodSeconds"] = 0


def _finalizers(target: Target, metadata: dict[str, Any], options: DeleteOptions) -> list[str]:
    """Return the finalizers that follow from the propagation policy."""
    current = list(metadata.get("finalizers") or ())
    default = target.resource.strategy.default_deletion
    if default == "unsupported":
        wanted = None
    elif options.orphan_dependents is not None:
        wanted = _ORPHAN if options.orphan_dependents else None
    elif options.propagation_policy is not None:
        wanted = {"Orphan": _ORPHAN, "Foreground": _FOREGROUND}.get(options.propagation_policy)
    else:
        inherited = [finalizer for finalizer in current if finalizer in (_ORPHAN, _FOREGROUND)]
        wanted = inherited[0] if inherited else (_ORPHAN if default == "orphan" else None)
    kept = [finalizer for finalizer in current if finalizer not in (_ORPHAN, _FOREGROUND)]
    return [*kept, wanted] if wanted else kept


def _answer(target: Target, obj: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a completed delete: the object for some kinds, a Status for the others."""
    resource = target.resource
    if resource.strategy.returns_deleted_object:
        return obj
    details = {
        "name": target.name,
        "group": resource.group,
        "kind": resource.plural,
        "uid": obj["metadata"].get("uid", ""),
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in details.items() if value},
    }


def _code(options: DeleteOptions) -> int:
    return 202 if options.orphan_dependents is False else 200


def check_preconditions(target: Target, version: Version, options: DeleteOptions) -> None:
    """Refuses to delete another object, or another version of it, than the client meant."""
    if options.uid is None and options.resource_version is None:
        return
    actual = version.content()["metadata"].get("uid", "")
    if options.uid is not None and options.uid != actual:
        raise _mismatch(target, "UID", options.uid, actual, "deleted and then recreated")
    actual = str(version.resource_version)
    if options.resource_version is not None and options.resource_version != actual:
        raise _mismatch(target, "ResourceVersion", options.resource_version, actual, "modified")


def _mismatch(target: Target, what: str, wanted: str, actual: str, perhaps: str) -> Conflict:
    resource = target.resource
    if resource.key in _OWN_DELETION:
        why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
        return conflict(resource.group, resource.plural, target.name, why)
    why = (
        f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). "
        f"The object might have been {perhaps}"
    )
    # kube-apiserver names the kind here, not the resource.
    return conflict(resource.internal_group, resource.kind, target.name, why)


def _undying(target: Target) -> Forbidden:
    return forbidden("", "namespaces", target.name, "this namespace may not be deleted")


def _terminate_namespace(
    state: State, target: Target, version: Version, options: DeleteOptions
) -> tuple[State, dict[str, Any]] | None:
    """Turn a namespace Terminating; return None when it is Terminating and empty: then it is deleted."""
    obj = version.content()
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp"):
        if (obj.get("spec") or {}).get("finalizers"):
            return state, read_back(target.resource, version)
        return None
    admission.admit(state, target, None, obj)
    admission.validate(state, target, None, obj)
    metadata["deletionTimestamp"] = rfc3339(state.now)
    obj.setdefault("status", {})["phase"] = "Terminating"
    finalizers = _finalizers(target, metadata, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    answer, state, _ = _write(state, target, obj, version)
    return state, answer


def _terminate_definition(state: State, target: Target, version: Version) -> tuple[State, dict[str, Any]]:
    """Mark a CustomResourceDefinition as deleted; it is removed after the objects of its kind."""
    obj = version.content()
    metadata = obj["metadata"]
    admission.admit(state, target, None, obj)
    admission.validate(state, target, None, obj)
    metadata["deletionTimestamp"] = now = rfc3339(state.now)
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    status = obj.setdefault("status", {})
    status["conditions"] = [*(status.get("conditions") or ()), condition]
    answer, state, _ = _write(state, target, obj, version)
    return state, answer
