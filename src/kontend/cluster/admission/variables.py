"""The variables of CEL expressions about a write: ``object``, ``oldObject``, ``request``, ``namespaceObject``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.access.attributes import Attributes
from kontend.cluster.access.rbac import authorize
from kontend.cluster.admission.operation import Operation
from kontend.cluster.resources import Resource
from kontend.cluster.users import service_account_of, service_account_user
from kontend.kube.cel.library.authorizer import Authorizer

NAMES: Final = ("object", "oldObject", "request", "namespaceObject", "authorizer")


def admission_request(operation: Operation, resource: Resource, *, uid: str = "") -> dict[str, Any]:
    """Return the request of an AdmissionReview, without the objects."""
    target = operation.target
    own = target.resource
    kind, own_kind = _kind(resource, target.subresource), _kind(own, target.subresource)
    request: dict[str, Any] = {
        "uid": uid,
        "kind": kind,
        "resource": _resource(resource),
        "requestKind": own_kind,
        "requestResource": _resource(own),
        "operation": operation.name,
        "userInfo": target.user.info(),
        "dryRun": target.options.dry_run,
        "options": dict(operation.options),
    }
    if target.subresource:
        request["subResource"] = request["requestSubResource"] = target.subresource
    if operation.object_name:
        request["name"] = operation.object_name
    if target.namespace:
        request["namespace"] = target.namespace
    elif own.key == "namespaces":
        request["namespace"] = operation.object_name
    return request


def values(operation: Operation, resource: Resource, objects: tuple[Any, Any] | None = None) -> dict[str, Any]:
    """Return the values of the variables."""
    new, old = objects if objects is not None else (operation.shown(resource), operation.shown_old(resource))
    return {
        "object": new,
        "oldObject": old,
        "request": admission_request(operation, resource),
        "namespaceObject": operation.namespace_object,
        "authorizer": _authorizer(operation, resource),
    }


def _authorizer(operation: Operation, resource: Resource) -> Authorizer:
    target = operation.target

    def decide(fields: Mapping[str, str]) -> tuple[bool, str]:
        user = target.user
        account = service_account_of(fields.get("user", ""))
        if account is not None:
            user = service_account_user(*account)
        names = ("verb", "group", "version", "resource", "subresource", "namespace", "name", "path")
        decision = authorize(operation.state, Attributes(user, **{name: fields.get(name, "") for name in names}))
        return decision.allowed, decision.reason

    request = {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "subresource": target.subresource,
        "namespace": target.namespace,
        "name": operation.object_name,
    }
    return Authorizer(decide, request)


def _kind(resource: Resource, subresource: str) -> dict[str, str]:
    info = resource.subresources.get(subresource) if subresource else None
    source: Any = info if info is not None else resource
    return {"group": source.group, "version": source.version, "kind": source.kind}


def _resource(resource: Resource) -> Mapping[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
