"""Changing objects: the one path that PUT, every kind of patch and apply go through.

:func:`update_object` reads the object, lets a *transform* make the new one from it, and then does what the registry
does: compare resourceVersions, prepare, validate, and store (or, when the last finalizer of a dying object went,
remove). There is no retry loop, because nothing else can happen in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kontend.cluster.access import escalation
from kontend.cluster.admission import chain as admission
from kontend.cluster.admission import quota
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.request import Target
from kontend.cluster.request_text import forget_empty, restore, stored_text, with_owned_texts
from kontend.cluster.state import State, Version
from kontend.cluster.storage import (
    check_name_matches,
    check_namespace_matches,
    read_back,
    rehearsed,
    served,
    store,
    with_managed_fields,
)
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.create import insert
from kontend.cluster.verbs.service_addresses import allocate_addresses
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.encoding.raw_json import with_texts
from kontend.kube.errors import ApiError, Conflict, conflict, invalid, not_found
from kontend.kube.field_errors import go_quote
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.name_rules import path_segment
from kontend.kube.meta.names import kind_of
from kontend.kube.meta.object_meta import (
    dedup_owner_references,
    unqualified_finalizers,
    validate_object_meta,
    validate_object_meta_update,
)
from kontend.kube.schema.tree import MISSING

#: From the stored object (fresh, may be kept; None when there is none) to the new one and its managed fields.
Transform = Callable[[Version | None], tuple[dict[str, Any], ManagedFields]]


def update(state: State, target: Target, obj: dict[str, Any]) -> tuple[State, dict[str, Any], bool]:
    """Replace an object (PUT). Returns the object as stored and whether it was created."""
    metadata = obj["metadata"]
    check_namespace_matches(target, metadata)
    check_name_matches(target, metadata)
    for warning in dedup_owner_references(metadata):
        target.warn(warning)
    uid = metadata.get("uid") or None
    requested = metadata.pop("managedFields", MISSING)

    def replace(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        if uid is not None:
            check_uid(target, old, uid)
        live = None if old is None else served(target.resource, old.versioned())
        managed = () if old is None else old.managed
        if live is not None and old is not None:
            with_owned_texts(obj, target.text, live, stored_text(target.resource, old.body))
        return obj, owners_after_update(state, target, live, obj, managed, requested)

    # The status of a service inherits this from the service, the only kind where it matters.
    whole = not target.subresource or target.resource.key == "services"
    allow_create = target.resource.strategy.allow_create_on_update and whole
    return update_object(state, target, replace, allow_create=allow_create)


def update_object(
    state: State, target: Target, transform: Transform, *, allow_create: bool
) -> tuple[State, dict[str, Any], bool]:
    """Change an object, or create it where that is allowed. Returns it as stored and whether it was created."""
    resource = target.resource
    old = state.find(resource.key, target.key)
    if old is None and not allow_create:
        raise not_found(resource.group, resource.plural, target.name)
    obj, managed = transform(old)
    if old is None:
        for name in ("uid", "creationTimestamp"):
            obj["metadata"].pop(name, None)
        admission.admit(state, target, obj, None, managed)
        escalation.check(state, target, obj, None)
        state, created = insert(state, target, obj, managed)
        return state, created, True
    live = served(resource, old.versioned())
    admission.admit(state, target, obj, live, managed)
    escalation.check(state, target, obj, live)
    _check_resource_version(target, obj, old)
    if resource.key == "services" and not target.subresource:
        allocate_addresses(state, obj, live)
    with_texts(live, stored_text(resource, old.body))
    if resource.conversion is None:
        _prepare_and_validate(target, obj, live, rfc3339(state.now))
        admission.validate(state, target, obj, live, managed)
    else:
        obj = resource.to_hub(obj)
        _prepare_and_validate(target, obj, old.versioned(), rfc3339(state.now))
        admission.validate(state, target, served(resource, dict(obj)), live, managed)
    state = quota.charge(state, target, obj, live)
    if _finalized(target, obj, live):
        answer = served(resource, with_managed_fields(obj, managed))
        answer["metadata"]["resourceVersion"] = str(old.resource_version)
        return (state if target.options.dry_run else state.remove(resource.key, target.key)), answer, False
    if target.options.dry_run:
        obj["metadata"]["resourceVersion"] = str(old.resource_version)
        return state, rehearsed(resource, obj, managed), False
    state, version = store(state, target, target.key, obj, managed, old)
    return state, read_back(resource, version), False


def _check_resource_version(target: Target, obj: dict[str, Any], old: Version) -> None:
    resource = target.resource
    wanted = obj["metadata"].get("resourceVersion") or ""
    if not wanted or wanted == "0":
        if not resource.strategy.allow_unconditional_update:
            error = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(resource.group, resource.plural, target.name, [error])
        obj["metadata"]["resourceVersion"] = str(old.resource_version)
        return
    if wanted == str(old.resource_version):
        return
    if not (wanted.isascii() and wanted.isdigit()):
        raise ApiError(f"strconv.ParseUint: parsing {go_quote(wanted)}: invalid syntax", code=500)
    if whole_number(wanted) >= 2**64:
        raise ApiError(f"strconv.ParseUint: parsing {go_quote(wanted)}: value out of range", code=500)
    if whole_number(wanted) != old.resource_version:
        raise conflict(resource.group, resource.plural, target.name)


def check_uid(target: Target, old: Version | None, uid: str) -> None:
    """Refuses a write with another uid than the stored object's; an object that is not there has none."""
    actual = "" if old is None else old.content()["metadata"].get("uid", "")
    if actual != uid:
        raise _precondition_failed(target, uid, actual)


def _precondition_failed(target: Target, wanted: str, actual: str) -> Conflict:
    """Return the storage layer's error for a write with another uid than the stored object's."""
    resource = target.resource
    why = (
        f"StorageError: invalid object, Code: 4, Key: {_storage_path(target)}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    )
    return conflict(resource.group, resource.plural, target.name, why)


_STORAGE_PREFIXES: Final = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "ingresses.networking.k8s.io": "ingress",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
}


def _storage_path(target: Target) -> str:
    """Return the key under which etcd would keep the object."""
    resource = target.resource
    prefix = f"{resource.group}/{resource.plural}" if resource.custom is not None else resource.plural
    prefix = _STORAGE_PREFIXES.get(resource.key, prefix)
    return f"/registry/{prefix}/{target.key}"


def _prepare_and_validate(target: Target, obj: dict[str, Any], old: dict[str, Any], now: str) -> None:
    resource, subresource = target.resource, target.subresource
    strategy = resource.strategy
    metadata, old_metadata = obj["metadata"], old["metadata"]
    check_namespace_matches(target, metadata)
    _keep(metadata, old_metadata, "generation")
    restore(obj, target.text)
    strategy.prepare(subresource, obj, old, now)
    metadata = obj["metadata"]
    if not metadata.get("uid"):
        _keep(metadata, old_metadata, "uid")
    if old_metadata.get("creationTimestamp"):
        metadata["creationTimestamp"] = old_metadata["creationTimestamp"]
    if old_metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = old_metadata["deletionTimestamp"]
    if (
        old_metadata.get("deletionGracePeriodSeconds") is not None
        and metadata.get("deletionGracePeriodSeconds") is None
    ):
        metadata["deletionGracePeriodSeconds"] = old_metadata["deletionGracePeriodSeconds"]
    errors = []
    if metadata != old_metadata:
        whole = validate_object_meta(metadata, namespaced=resource.namespaced, name_rule=path_segment)
        change = validate_object_meta_update(metadata, old_metadata)
        errors += whole + change
        if strategy.rechecks_metadata and not subresource:
            errors += validate_object_meta(metadata, namespaced=resource.namespaced, name_rule=strategy.name_rule)
        if strategy.rechecks_metadata_update:
            errors += change + (unqualified_finalizers(metadata) if strategy.checks_finalizers else [])
    errors += strategy.validate_changes(subresource, obj, old)
    if errors:
        kind = kind_of(obj)  # of the object: a custom resource may say that it is something else
        raise invalid(kind.group, kind.kind, metadata.get("name") or "", errors)
    for warning in strategy.warnings(obj, old):
        target.warn(warning)
    strategy.canonicalize(obj)
    forget_empty(obj, target.text)


def _keep(metadata: dict[str, Any], old_metadata: dict[str, Any], name: str) -> None:
    if name in old_metadata:
        metadata[name] = old_metadata[name]
    else:
        metadata.pop(name, None)


def _finalized(target: Target, obj: dict[str, Any], old: dict[str, Any]) -> bool:
    """Report whether this update removes the last finalizer of an object that is being deleted."""
    old_metadata = old["metadata"]
    if not old_metadata.get("deletionTimestamp") or obj["metadata"].get("finalizers"):
        return False
    if old_metadata.get("deletionGracePeriodSeconds"):
        return False
    return target.resource.key != "namespaces" or not (obj.get("spec") or {}).get("finalizers")
