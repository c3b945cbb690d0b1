"""The controllers of CustomResourceDefinitions: the consequences of creating, changing or deleting one.

kube-apiserver does this in controllers of its own, a moment later. Here it is part of the same step: a new definition
is accepted and established at once, a changed one serves its new versions, a deleted one takes its objects with it.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.options import DeleteOptions, WriteOptions
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.registration.api_services import follow_definitions
from kontend.cluster.request import Target
from kontend.cluster.resources import Registry, Resource, custom_resources
from kontend.cluster.state import Change, State
from kontend.cluster.storage import encoded
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.delete import CLEANUP, DEFINITIONS, delete
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import GroupVersionKind, Key

_KIND: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def follow(before: State, after: State) -> State:
    """Apply the consequences of the changes between two states, if a definition is among them."""
    if after is before or after.resource_version == before.resource_version:
        return after
    if before.kinds.get(DEFINITIONS) is after.kinds.get(DEFINITIONS) and not _is_custom_removal(after):
        return after
    for change in after.changes_since(before.resource_version):
        if change.resource == DEFINITIONS and change.new is not None:
            after = _settle(after, change)
    if before.kinds.get(DEFINITIONS) is not after.kinds.get(DEFINITIONS):
        after = after.replace(registry=_registry(after))
    after = _finish_deletions(after)
    return after if after.registry is before.registry else follow_definitions(after)


def registry_of(state: State) -> Registry:
    """Return the resources that a state serves, made anew from its definitions: for states that were read from
    somewhere."""
    return _registry(state)


def _registry(state: State) -> Registry:
    resources: list[Resource] = []
    definitions = [version.content() for version in state.objects(DEFINITIONS).values()]
    # Uids are handed out in order, so this is the order in which they were created.
    for definition in sorted(definitions, key=lambda entry: str(entry["metadata"]["uid"])):
        if _is_established(definition):
            resources += _resources_of(definition)
    return Registry(resources)


def _is_established(definition: dict[str, Any]) -> bool:
    """Report whether a definition's names were accepted; one with names of another is stored, but not served."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions)


_cache: dict[bytes, list[Resource]] = {}


def _resources_of(definition: dict[str, Any]) -> list[Resource]:
    """Return the resources of a definition; compiled schemas are kept, because states are many and definitions few."""
    spec = canonical(definition["spec"])
    cached = _cache.get(spec)
    if cached is None:
        if len(_cache) > 1000:
            _cache.clear()
        cached = _cache[spec] = custom_resources(definition)
    return cached


def _settle(state: State, change: Change) -> State:
    """Accept the names of a definition and mark it for cleanup when it is being deleted."""
    from kontend.kube.crd.definition import crd_status  # brings CEL, which servers without definitions do not need

    version = state.find(DEFINITIONS, change.key)
    if version is None:
        return state
    live, definition = version.versioned(), version.versioned()
    if "deletionTimestamp" in definition["metadata"]:
        return state
    target = _target(state, change.key)
    others = [pair.content() for key, pair in state.objects(DEFINITIONS).items() if key != change.key]
    taken = [other for other in others if other["spec"]["group"] == definition["spec"]["group"]]
    definition["status"] = crd_status(definition, now=rfc3339(state.now), taken=taken)
    managed = owners_after_update(state, target, live, definition, version.managed)
    body = encoded(target.resource, definition)
    if body == version.body:
        return state
    state, _ = state.write(DEFINITIONS, change.key, body, managed)
    return state


def _target(state: State, key: Key) -> Target:
    resource = state.registry.of_kind(_KIND)
    assert resource is not None  # it is built in
    options = WriteOptions(field_manager="kube-apiserver")
    return Target(state.registry, resource, "update", "", key.name, "status", options)


def _is_custom_removal(state: State) -> bool:
    change = state.newest
    return change is not None and change.new is None and any(r.key == change.resource for r in state.registry.custom)


def _finish_deletions(state: State) -> State:
    """Delete the objects of dying definitions, and the definitions that have none left."""
    for key, version in list(state.objects(DEFINITIONS).items()):
        if b'"deletionTimestamp"' not in version.body:
            continue
        definition = version.content()
        metadata = definition["metadata"]
        if not metadata.get("deletionTimestamp") or CLEANUP not in (metadata.get("finalizers") or ()):
            continue
        state = _delete_objects(state, definition)
        if len(state.objects(_objects_key(definition))):
            continue
        left = [finalizer for finalizer in metadata["finalizers"] if finalizer != CLEANUP]
        if left:
            metadata["finalizers"] = left
            state, _ = state.write(DEFINITIONS, key, encoded(_target(state, key).resource, definition), version.managed)
        else:
            state = state.remove(DEFINITIONS, key)
            state = state.replace(registry=_registry(state))
    return state


def _objects_key(definition: dict[str, Any]) -> str:
    spec = definition["spec"]
    return f"{spec['names']['plural']}.{spec['group']}"


def _delete_objects(state: State, definition: dict[str, Any]) -> State:
    key = _objects_key(definition)
    resource = next((custom for custom in state.registry.custom if custom.key == key), None)
    if resource is None:
        return state
    for pair, version in sorted(state.objects(key).items()):
        if version.content()["metadata"].get("deletionTimestamp"):
            continue
        target = Target(state.registry, resource, "delete", pair.namespace, pair.name)
        try:
            state, _, _ = delete(state, target, DeleteOptions())
        except ApiError:  # an admission hook holds it: then the definition waits for it, as for a finalizer
            continue
    return state
