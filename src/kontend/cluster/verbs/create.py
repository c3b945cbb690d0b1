"""Creating objects, as the registry does it.

The order matters and is kube-apiserver's: system fields are wiped, ownership is recorded, admission runs, the name is
generated, the strategy prepares and validates, and only then does the server look for an object of that name.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.access import escalation
from kontend.cluster.admission import chain as admission
from kontend.cluster.admission import quota
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.request import Target
from kontend.cluster.request_text import forget_empty, restore
from kontend.cluster.state import State, Version
from kontend.cluster.storage import check_namespace_matches, read_back, rehearsed, served, store
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.service_addresses import allocate_addresses
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.errors import AlreadyExists, ApiError, already_exists, invalid
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.name_rules import path_segment
from kontend.kube.meta.names import Key, kind_of
from kontend.kube.meta.object_meta import (
    dedup_owner_references,
    unqualified_finalizers,
    validate_names,
    validate_object_meta,
)
from kontend.kube.schema.tree import MISSING

_GENERATED_NAME_ATTEMPTS: Final = 8
_GENERATED_NAME_LIMIT: Final = 63
#: Fields that nothing sets on a new object, a webhook no more than a client.
_NEVER_NEW: Final = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_SYSTEM_FIELDS: Final = ("creationTimestamp", "uid", *_NEVER_NEW)


def create(state: State, target: Target, obj: dict[str, Any]) -> tuple[State, dict[str, Any]]:
    """Create ``obj`` (decoded and defaulted; changed in place). Returns the object as stored."""
    managed = receive(state, target, obj)
    admission.admit(state, target, obj, None, managed)
    escalation.check(state, target, obj, None)
    return insert(state, target, obj, managed)


def receive(state: State, target: Target, obj: dict[str, Any]) -> ManagedFields:
    """Return the handler's half of a create, before admission: wipes system fields, and returns the owners of all
    others."""
    requested = obj["metadata"].pop("managedFields", MISSING)
    _clear(target, obj)
    return owners_after_update(state, target, None, obj, (), requested)


def create_unowned(state: State, target: Target, obj: dict[str, Any]) -> State:
    """Return the state after a create by which nobody owns a field, for a caller that works out owners of its own."""
    obj["metadata"].pop("managedFields", None)
    _clear(target, obj)
    admission.admit(state, target, obj, None)
    escalation.check(state, target, obj, None)
    return insert(state, target, obj, ())[0]


def _clear(target: Target, obj: dict[str, Any]) -> None:
    """Wipe system fields, and check the names."""
    metadata = obj["metadata"]
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    if not target.name:
        target.name = metadata.get("name") or ""
    check_namespace_matches(target, metadata)
    for warning in dedup_owner_references(metadata):
        target.warn(warning)


def insert(state: State, target: Target, obj: dict[str, Any], managed: ManagedFields) -> tuple[State, dict[str, Any]]:
    """Return the registry's half of a create: everything after admission."""
    resource = target.resource
    before = state
    obj = resource.to_hub(obj)
    metadata = obj["metadata"]
    for name in _NEVER_NEW:
        metadata.pop(name, None)
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    if generated:
        state, metadata["name"] = _generate_name(state, target, metadata["generateName"])
    if resource.strategy.names_by_uid and not metadata.get("name"):
        state, metadata["name"] = state.next_uid()
    key = Key(target.namespace if resource.namespaced else "", metadata.get("name") or "")
    state, metadata["uid"] = state.next_uid()
    metadata["creationTimestamp"] = rfc3339(state.now)
    if resource.key == "services" and not target.subresource:
        allocate_addresses(state, obj, None)
    _prepare_and_validate(target, obj)
    shown = obj if resource.conversion is None else served(resource, dict(obj))
    admission.validate(state, target, shown, None, managed)
    state = quota.charge(state, target, shown, None)
    # A create refuses a version; an update or apply that turned into one does not look. What is no number is none.
    version = metadata.get("resourceVersion")
    if version and _is_version(version) and target.verb == "create" and not target.options.dry_run:
        raise ApiError("resourceVersion should not be set on objects to be created", code=500)
    existing = state.find(resource.key, key)
    if existing is not None:
        raise _exists(target, key, existing, generated)
    if target.options.dry_run:
        # A dry run writes nothing, but the uid and name it showed are not handed out again.
        return before.replace(serial=state.serial), rehearsed(resource, obj, managed)
    state, stored = store(state, target, key, obj, managed)
    return state, read_back(resource, stored)


def _is_version(text: str) -> bool:
    """Report whether the server reads a version other than 0 from a text."""
    return text.isascii() and text.isdecimal() and 0 < whole_number(text) < 2**64


def _generate_name(state: State, target: Target, prefix: str) -> tuple[State, str]:
    name = prefix
    for _ in range(_GENERATED_NAME_ATTEMPTS):
        state, suffix = state.next_suffix()
        name = prefix[: _GENERATED_NAME_LIMIT - len(suffix)] + suffix
        if state.find(target.resource.key, Key(target.namespace, name)) is None:
            break
    return state, name


def _prepare_and_validate(target: Target, obj: dict[str, Any]) -> None:
    resource = target.resource
    strategy = resource.strategy
    metadata = obj["metadata"]
    restore(obj, target.text)
    strategy.prepare_for_create(obj)
    strategy.set_requester(obj, target.user.info)
    errors = []
    if strategy.checks_metadata:
        errors += validate_object_meta(metadata, namespaced=resource.namespaced, name_rule=strategy.name_rule)
        if strategy.checks_finalizers:
            errors += unqualified_finalizers(metadata)
    errors += strategy.validate(obj)
    if not errors and (strategy.checks_metadata or resource.custom is not None):
        errors += validate_names(metadata, path_segment)  # all else was validated above
    elif not errors:
        errors += validate_object_meta(metadata, namespaced=resource.namespaced, name_rule=path_segment)
    if errors:
        kind = kind_of(obj)  # of the object: a custom resource may say that it is something else
        raise invalid(kind.group, kind.kind, metadata.get("name") or "", errors)
    for warning in strategy.warnings(obj, None):
        target.warn(warning)
    strategy.canonicalize(obj)
    forget_empty(obj, target.text)


def _exists(target: Target, key: Key, existing: Version, generated: bool) -> AlreadyExists:
    resource = target.resource
    deleting = "deletionTimestamp" in existing.content()["metadata"]
    prefix = "object is being deleted: " if deleting else ""
    error = already_exists(resource.group, resource.plural, key.name, prefix=prefix)
    if generated:
        message = error.message + ", the server was not able to generate a unique name for the object"
        error = AlreadyExists(message, details={**(error.details or {}), "retryAfterSeconds": 1})
    return error
