"""APIServices of groups that the server itself answers: the built-in ones, and those of custom resources.

kube-apiserver registers the groups of CustomResourceDefinitions when they are served, and takes them out when they are
not. Here that is part of the step that changes the definition, in clusters that have APIServices at all.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.options import WriteOptions
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.storage import encoded
from kontend.cluster.times import rfc3339
from kontend.kube.meta.names import GroupVersionKind, Key

API_SERVICES: Final = "apiservices.apiregistration.k8s.io"
_KIND: Final = GroupVersionKind("apiregistration.k8s.io", "v1", "APIService")
_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
#: The priorities of the groups of custom resources.
_CUSTOM: Final = (1000, 100)


def api_service(group: str, version: str, priority: int, version_priority: int, *, label: str, now: str) -> Any:
    """Return the APIService of a group and version; ``label`` says when it is registered: ``onstart`` or ``true``."""
    message = "Local APIServices are always available"
    available = {"type": "Available", "status": "True", "reason": "Local", "message": message}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}", "labels": {_MANAGED: label}},
        "spec": {
            **({"group": group} if group else {}),
            "version": version,
            "groupPriorityMinimum": priority,
            "versionPriority": version_priority,
        },
        "status": {"conditions": [{**available, "lastTransitionTime": now}]},
    }


def follow_definitions(state: State) -> State:
    """Register the groups of custom resources that are served, and removes those that no longer are."""
    registered = state.objects(API_SERVICES)
    if not len(registered):
        return state
    served = {f"{custom.version}.{custom.group}": custom for custom in state.registry.custom}
    for key, version in registered.items():
        labels = version.content()["metadata"].get("labels") or {}
        if labels.get(_MANAGED) == "true" and key.name not in served:
            state = state.remove(API_SERVICES, key)
    for name, resource in sorted(served.items()):
        if state.find(API_SERVICES, Key("", name)) is None:
            state = _register(state, resource.group, resource.version)
    return state


def _register(state: State, group: str, version: str) -> State:
    resource = state.registry.of_kind(_KIND)
    assert resource is not None  # it is built in
    obj = api_service(group, version, *_CUSTOM, label="true", now=rfc3339(state.now))
    state, obj["metadata"]["uid"] = state.next_uid()
    obj["metadata"]["creationTimestamp"] = rfc3339(state.now)
    options = WriteOptions(field_manager="kube-apiserver")
    target = Target(state.registry, resource, "create", "", obj["metadata"]["name"], options=options)
    managed = owners_after_update(state, target, None, obj, ())
    state, _ = state.write(API_SERVICES, target.key, encoded(resource, obj), managed)
    return state
