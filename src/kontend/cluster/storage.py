"""Storage: writes objects to the state and reads them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from kontend.cluster.effects.conversion import convert
from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.kube.apply.managed_fields import ManagedFields, encode_json, keep_times
from kontend.kube.encoding.json_text import canonical
from kontend.kube.encoding.raw_json import spliced
from kontend.kube.encoding.required_lists import empty_to_null
from kontend.kube.errors import ApiError, BadRequest
from kontend.kube.meta.names import Key
from kontend.kube.schema.defaulting import apply_defaults
from kontend.kube.schema.tree import MISSING

#: etcd refuses larger values.
_LARGEST_OBJECT = 1_572_864


def encoded(resource: Resource, obj: dict[str, Any]) -> bytes:
    """Return the bytes under which an object is stored; a built-in one is in the form of storage already."""
    metadata = obj["metadata"]
    metadata.pop("resourceVersion", None)
    metadata.pop("managedFields", None)
    metadata.pop("selfLink", None)
    obj["kind"] = resource.kind
    if resource.custom is not None:
        obj["apiVersion"] = resource.custom.storage_api_version
    elif resource.conversion is None:
        obj["apiVersion"] = resource.api_version
    body = _text(resource, obj)
    if b"[]" in body and resource.custom is None:
        empty_to_null(obj, resource.required_lists)
        body = _text(resource, obj)
    return body


def _text(resource: Resource, obj: dict[str, Any]) -> bytes:
    if not resource.strategy.raw_fields:
        return canonical(obj)
    marked, marks = spliced(obj, resource.strategy.raw_fields)
    body = canonical(marked)
    for mark, text in marks.items():
        body = body.replace(mark, text)
    return body


def store(
    state: State, target: Target, key: Key, obj: dict[str, Any], managed: ManagedFields, old: Version | None = None
) -> tuple[State, Version]:
    """Write ``obj``, unless nothing changed (or only the times of managed fields)."""
    _to_storage(target.resource, obj)
    body = encoded(target.resource, obj)
    filled = b""
    if old is None if target.resource.custom is None else target.resource.lacks_defaults(obj):
        target.resource.fill_in(obj)
        stored, body = body, encoded(target.resource, obj)
        if stored != body:
            filled = canonical(_added(orjson.loads(stored), obj))
    if (
        old is not None
        and filled == old.filled
        and body == old.body
        and keep_times(old.managed, managed) is old.managed
    ):
        return state, old
    if len(body) > _LARGEST_OBJECT:
        raise ApiError("etcdserver: request is too large", code=500)
    return state.write(target.resource.key, key, body, managed, filled=filled)


def _added(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the places at which a value has more or other fields than before, as a tree."""
    changed: dict[str, Any] = {}
    for name, value in after.items():
        was = before.get(name, MISSING)
        if was is MISSING or type(was) is not type(value):
            changed[name] = {}
        elif was != value:
            changed[name] = _added(_fields(was), _fields(value))
    return changed


def _fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of an object, or the items of a list by their number."""
    if isinstance(value, dict):
        return value
    return {str(number): item for number, item in enumerate(value)} if isinstance(value, list) else {}


def _to_storage(resource: Resource, obj: dict[str, Any]) -> None:
    """Make an object one of the storage version, in place."""
    custom = resource.custom
    if custom is not None and custom.converts_by_webhook and obj["apiVersion"] != custom.storage_api_version:
        converted = convert(custom, obj, custom.storage_api_version)
        obj.clear()
        obj.update(converted)
    resource.to_storage(obj)


def rehearsed(resource: Resource, obj: dict[str, Any], managed: ManagedFields) -> dict[str, Any]:
    """Return the answer to a dry run: the object after a way to storage and back that it did not go."""
    version = obj["metadata"].get("resourceVersion")
    _to_storage(resource, obj)
    encoded(resource, obj)
    resource.fill_in(obj)
    if version:
        obj["metadata"]["resourceVersion"] = version
    return served(resource, with_managed_fields(obj, managed))


def read_back(resource: Resource, version: Version) -> dict[str, Any]:
    """Return a stored object as this resource (perhaps another version of the kind than the stored one) serves it."""
    return served(resource, version.read())


def served(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Give an object the apiVersion under which it is served; fields the version does not know are dropped."""
    if resource.conversion is not None and obj["apiVersion"] != resource.api_version:
        obj = resource.conversion.from_hub(obj)
    if resource.custom is None:
        # Go writes the fields of a struct in the order of their declaration.
        return {"kind": obj.pop("kind"), "apiVersion": obj.pop("apiVersion"), "metadata": obj.pop("metadata"), **obj}
    if resource.custom.has_stored_defaults and obj["apiVersion"] == resource.custom.storage_api_version:
        # The definition may have got a default after the object was written.
        apply_defaults(obj, resource.custom.storage_schema)
    if obj["apiVersion"] == resource.api_version:
        return obj
    if resource.custom.converts_by_webhook:
        return convert(resource.custom, obj, resource.api_version)
    obj["apiVersion"] = resource.api_version
    resource.convert(obj)
    return obj


def with_managed_fields(obj: dict[str, Any], managed: ManagedFields) -> dict[str, Any]:
    """Put the managed fields back into an object that carries none."""
    if managed:
        obj["metadata"]["managedFields"] = orjson.loads(encode_json(managed))
    return obj


def check_namespace_matches(target: Target, metadata: dict[str, Any]) -> None:
    """Check that the object's namespace is the one of the path; an empty one is filled in."""
    namespace = metadata.get("namespace") or ""
    expected = target.namespace if target.resource.namespaced else ""
    if namespace == expected:
        return
    if not namespace:
        metadata["namespace"] = expected
    elif not expected:
        del metadata["namespace"]
    else:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_name_matches(target: Target, metadata: dict[str, Any]) -> None:
    """Check that the object's name is the one of the path."""
    name = metadata.get("name") or ""
    if not name:
        raise BadRequest(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
