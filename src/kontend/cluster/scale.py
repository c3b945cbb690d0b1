"""The ``scale`` subresource: reading and writing the replicas of an object without knowing its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kontend.cluster.ownership import applied, owners_after_update
from kontend.cluster.read import get
from kontend.cluster.request import APPLY_PATCH, JSON_PATCH, Target
from kontend.cluster.state import State, Version
from kontend.cluster.storage import read_back, served
from kontend.cluster.update import Transform, update_object
from kontend.kube.builtin.scale import scale_of, set_scale, validate_scale
from kontend.kube.errors import BadRequest, Invalid, invalid
from kontend.kube.json_patch import apply_json_patch, parse_json_patch
from kontend.kube.json_syntax import go_kind
from kontend.kube.json_text import MalformedYAML, parse_yaml
from kontend.kube.managed_fields import ManagedFields
from kontend.kube.merge_patch import apply_merge_patch, parse_merge_patch

Scale = dict[str, Any]


def get_scale(state: State, target: Target) -> Scale:
    """The Scale of an object."""
    return _scale(target, get(state, target))


def update_scale(state: State, target: Target, scale: Mapping[str, Any]) -> tuple[State, Scale]:
    """Set the replicas of an object by replacing its Scale."""
    return _write(state, target, _changing(state, target, lambda _: scale))


def patch_scale(state: State, target: Target, patch_type: str, body: bytes) -> tuple[State, Scale]:
    """Set the replicas of an object by patching its Scale."""
    if patch_type == APPLY_PATCH:
        return _write(state, target, _applying(state, target, body))

    def patched(current: Scale) -> Any:
        if patch_type == JSON_PATCH:
            return apply_json_patch(current, parse_json_patch(body))
        return apply_merge_patch(current, parse_merge_patch(body)[0])

    return _write(state, target, _changing(state, target, patched))


def _write(state: State, target: Target, transform: Transform) -> tuple[State, Scale]:
    # The object itself is prepared and validated as for any other write of its spec.
    main = replace(target, subresource="")
    state, obj, _ = update_object(state, main, transform, allow_create=False)
    return state, _scale(target, obj)


def _changing(state: State, target: Target, change: Callable[[Scale], Any]) -> Transform:
    def transform(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        assert old is not None  # scale is never created
        live, obj = served(target.resource, old.versioned()), served(target.resource, old.versioned())
        scale = change(_scale(target, read_back(target.resource, old)))
        _check(target, scale)
        if target.resource.custom is None:
            set_scale(obj, scale)
        else:
            target.resource.custom.set_scale(obj, scale)
        if not (scale.get("metadata") or {}).get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = str(old.resource_version)
        return obj, _without_times(owners_after_update(state, target, live, obj, old.managed), old.managed)

    return transform


def _applying(state: State, target: Target, body: bytes) -> Transform:
    """An apply to the Scale is an apply to the object, of its replicas alone."""
    try:
        scale = parse_yaml(body)[0]
    except MalformedYAML as error:
        raise BadRequest(f"error decoding YAML: {error.message}") from None
    if not isinstance(scale, dict):
        scale = {}
    if (scale.get("apiVersion"), scale.get("kind")) != ("autoscaling/v1", "Scale"):
        raise BadRequest(f"invalid object type: {scale.get('apiVersion', '/')}, Kind={scale.get('kind', '')}")
    _check(target, scale)
    patch: dict[str, Any] = {
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "metadata": {"name": target.name},
    }
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        patch["metadata"]["resourceVersion"] = version
    if (scale.get("spec") or {}).get("replicas") is not None:
        if target.resource.custom is None:
            patch["spec"] = {"replicas": scale["spec"]["replicas"]}
        else:
            target.resource.custom.set_scale(patch, scale)

    def transform(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        assert old is not None  # scale is never created
        obj, managed = applied(state, target, served(target.resource, old.versioned()), patch, old.managed)
        target.resource.complete(obj)
        return obj, _without_times(managed, old.managed)

    return transform


def _without_times(managed: ManagedFields, old: ManagedFields) -> ManagedFields:
    """What is written through scale is recorded without a time; what was there before stays as it was."""
    known = set(old)
    return tuple(
        entry if entry in known or entry.subresource != "scale" else entry.replace(fields=entry.fields, time="")
        for entry in managed
    )


def _scale(target: Target, obj: Mapping[str, Any]) -> Scale:
    return scale_of(obj) if target.resource.custom is None else target.resource.custom.scale_of(obj)


def _check(target: Target, scale: Any) -> None:
    if not isinstance(scale, dict):
        raise Invalid("the server rejected our request due to an error in our request", details={})
    for field in ("metadata", "spec"):
        if not isinstance(scale.get(field) or {}, dict):
            raise _undecodable(scale[field], f"Scale.{field}", "v1.ObjectMeta" if field == "metadata" else "v1.ScaleSpec")
    replicas = (scale.get("spec") or {}).get("replicas")
    if replicas is not None and (isinstance(replicas, bool) or not isinstance(replicas, int)):
        raise _undecodable(replicas, "ScaleSpec.spec.replicas", "int32")
    errors = validate_scale(scale)
    if errors:
        raise invalid("autoscaling", "Scale", target.name, errors)


def _undecodable(value: Any, field: str, go_type: str) -> BadRequest:
    why = f"json: cannot unmarshal {go_kind(value)} into Go struct field {field} of type {go_type}"
    return BadRequest(f'Scale in version "v1" cannot be handled as a Scale: {why}')
