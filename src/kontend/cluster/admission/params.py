"""Parameters of admission policies: the objects that a binding names or selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.cluster.admission.operation import Operation
from kontend.cluster.storage import read_back
from kontend.kube.meta.names import GroupVersionKind, Key, split_api_version
from kontend.kube.meta.selectors import selector_from_json


class MissingParams(Exception):
    """There are no parameters where there must be some."""


def params_of(operation: Operation, kind: Mapping[str, Any] | None, reference: Mapping[str, Any] | None) -> list[Any]:
    """Return the parameters to evaluate a policy with, one after the other; ``[None]`` where it takes none."""
    if not kind or not reference:
        return [None]
    group, version = split_api_version(str(kind.get("apiVersion") or ""))
    name = GroupVersionKind(group, version, str(kind.get("kind") or ""))
    resource = operation.state.registry.of_kind(name)
    if resource is None:
        raise MissingParams(f"failed to find resource referenced by paramKind: '{name.api_version}, Kind={name.kind}'")
    namespace = ""
    if resource.namespaced:
        namespace = str(reference.get("namespace") or operation.target.namespace)
        if not namespace:
            raise MissingParams(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif reference.get("namespace"):
        raise MissingParams("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if reference.get("name"):
        stored = operation.state.find(resource.key, Key(namespace, str(reference["name"])))
        params = [] if stored is None else [read_back(resource, stored)]
    else:
        selector = selector_from_json(reference.get("selector") or {})
        objects = sorted(operation.state.objects(resource.key).items())
        versions = [version for key, version in objects if key.namespace == namespace]
        listed = [read_back(resource, version) for version in versions]
        params = [param for param in listed if selector.matches(param["metadata"].get("labels") or {})]
    if params:
        return params
    if reference.get("parameterNotFoundAction") == "Deny":
        raise MissingParams("no params found for policy binding with `Deny` parameterNotFoundAction")
    return []
