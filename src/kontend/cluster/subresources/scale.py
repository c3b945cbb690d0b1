"""The ``scale`` subresource: reading and writing the replicas of an object without knowing its kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kontend.cluster.request import APPLY_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH, Target
from kontend.cluster.resources import body_of
from kontend.cluster.state import State, Version
from kontend.cluster.storage import check_name_matches, check_namespace_matches, read_back, served
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.patch import apply_body
from kontend.cluster.verbs.read import get
from kontend.cluster.verbs.update import Transform, check_uid, update_object
from kontend.kube.apply import server_side as apply
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.apply.scale_fields import SCALE_VERSION, ReplicasAt, to_parent, to_scale
from kontend.kube.builtin.scale import REPLICAS_PATH, scale_of, set_scale, validate_scale
from kontend.kube.encoding.decode import decode
from kontend.kube.encoding.json_syntax import go_kind
from kontend.kube.errors import ApiError, BadRequest, invalid, rejected
from kontend.kube.field_errors import go_json, go_quote
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.kinds import type_schema
from kontend.kube.meta.names import GroupVersionKind
from kontend.kube.patches.json_patch import apply_json_patch, parse_json_patch
from kontend.kube.patches.merge_patch import apply_merge_patch, parse_merge_patch
from kontend.kube.patches.strategic_rules import go_print

Scale = dict[str, Any]


def get_scale(state: State, target: Target) -> Scale:
    """Return the Scale of an object."""
    obj = get(state, target)
    if target.resource.custom is not None:
        target.resource.custom.check_replicas(obj)
    return _scale(target, obj)


def update_scale(state: State, target: Target, scale: Mapping[str, Any]) -> tuple[State, Scale]:
    """Set the replicas of an object by replacing its Scale."""
    return _write(state, target, _changing(state, target, lambda _: scale))


def patch_scale(state: State, target: Target, patch_type: str, body: bytes) -> tuple[State, Scale]:
    """Set the replicas of an object by patching its Scale."""
    if patch_type == APPLY_PATCH:
        return _write(state, target, _applying(state, target, body))

    def patched(current: Scale) -> Any:
        if patch_type == JSON_PATCH:
            return _known_fields(target, apply_json_patch(current, parse_json_patch(body)))
        change = parse_merge_patch(body)[0]
        shown = go_print(change) if patch_type == STRATEGIC_MERGE_PATCH else ""
        return _known_fields(target, apply_merge_patch(current, change), shown)

    return _write(state, target, _changing(state, target, patched))


def _known_fields(target: Target, scale: Any, shown: str = "") -> Any:
    """Return the fields of a patched Scale that its type knows; a patch that brings others may be an error or a
    warning."""
    if not isinstance(scale, dict):
        return scale
    written = (scale.get("apiVersion") or SCALE_VERSION, scale.get("kind") or "Scale")
    if written != (SCALE_VERSION, "Scale") and not shown:
        group, _, version = str(written[0]).rpartition("/")
        kind = GroupVersionKind(group, version, str(written[1]))
        why = target.registry.why_not(body_of("autoscaling", "v1", "Scale"), kind)
        raise invalid("", "", "", [invalid_field("patch", go_json(scale), why)])
    try:
        known, unknown = decode(copy.deepcopy(scale), type_schema("autoscaling/v1.Scale"))
    except BadRequest:
        return scale  # the check of the values says what is wrong
    problems = [f"unknown field {go_quote(path)}" for path in unknown]
    if problems and target.options.field_validation == "Strict":
        why = "strict decoding error: " + ", ".join(problems)
        raise invalid("", "", "", [invalid_field("patch", shown or go_json(scale), why)])
    if target.options.field_validation == "Warn":
        for problem in problems:
            target.warn(problem)
    return known


def _write(state: State, target: Target, transform: Transform) -> tuple[State, Scale]:
    # The object itself is prepared and validated as for any other write of its spec.
    main = replace(target, subresource="")
    state, obj, _ = update_object(state, main, transform, allow_create=False)
    return state, _scale(target, obj)


def _changing(state: State, target: Target, change: Callable[[Scale], Any]) -> Transform:
    def transform(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        assert old is not None  # scale is never created
        live = _scale(target, read_back(target.resource, old))
        scale = change(live)
        try:
            _check(target, scale)
        except BadRequest as error:
            raise _refused(target, scale, error) from None
        check_namespace_matches(target, scale["metadata"])
        check_name_matches(target, scale["metadata"])
        uid = scale["metadata"].get("uid")
        if uid:
            check_uid(target, old, uid)
        tracked = partial(apply.track_update, live=live, new=scale)
        return _scaled(target, old, scale), _owners(state, target, old, tracked)

    return transform


def _applying(state: State, target: Target, body: bytes) -> Transform:
    patch, complain = apply_body(target, body)

    def transform(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        assert old is not None  # scale is never created
        live = _scale(target, read_back(target.resource, old))
        merged: Scale = {}

        def tracked(**arguments: Any) -> ManagedFields:
            nonlocal merged
            outcome = apply.apply(live=live, patch=patch, kind="Scale", force=target.options.force, **arguments)
            merged = outcome.obj
            return outcome.managed

        apply.check_kind(patch, SCALE_VERSION, "Scale")
        if target.resource.custom is not None and not to_scale(
            old.managed, state.registry.replicas_at(target.resource)
        ):
            raise _inconvertible("failed to create manager for existing fields: failed to convert live object", "/")
        managed = _owners(state, target, old, tracked)
        complain()
        if target.resource.custom is not None:
            raise _inconvertible("failed to convert new object", f"/{target.name}")
        _check(target, merged)
        return _scaled(target, old, merged), managed

    return transform


def _scaled(target: Target, old: Version, scale: Scale) -> dict[str, Any]:
    """Return the object with the replicas of a Scale."""
    obj = served(target.resource, old.versioned())
    if target.resource.custom is None:
        set_scale(obj, scale)
    else:
        target.resource.custom.set_scale(obj, scale)
    if not scale["metadata"].get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = str(old.resource_version)
    return obj


def _owners(state: State, target: Target, old: Version, tracked: Callable[..., ManagedFields]) -> ManagedFields:
    """Return the owners of the object after a write to its Scale, which has owners of its own in between."""
    resource = target.resource
    replicas_at: ReplicasAt = {resource.api_version: REPLICAS_PATH}
    if resource.custom is not None:
        replicas_at = state.registry.replicas_at(resource)
    managed = tracked(
        schema=type_schema("autoscaling/v1.Scale"),
        managed=to_scale(old.managed, replicas_at),
        manager=target.options.field_manager,
        api_version="autoscaling/v1",
        subresource="scale",
        now=rfc3339(state.now),
    )
    return to_parent(old.managed, managed, api_version=resource.api_version, replicas_at=replicas_at)


def _scale(target: Target, obj: Mapping[str, Any]) -> Scale:
    return scale_of(obj) if target.resource.custom is None else target.resource.custom.scale_of(obj)


def _inconvertible(why: str, name: str) -> ApiError:
    """Return kube-apiserver's error for an apply to the Scale of a custom resource."""
    kind = "autoscaling/v1, Kind=Scale"
    end = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
    return ApiError(f"{why} ({name}; {kind}) {end}", code=500)


def _refused(target: Target, scale: Any, error: BadRequest) -> ApiError:
    """Return the error for a Scale that cannot be decoded: the body's fault, or the patch's."""
    if target.verb == "patch":
        return invalid("", "", "", [invalid_field("patch", go_json(scale), error.message)])
    return BadRequest(f'Scale in version "v1" cannot be handled as a Scale: {error.message}')


def _check(target: Target, scale: Any) -> None:
    if not isinstance(scale, dict):
        raise rejected("the patch makes something else of the Scale")
    scale.setdefault("metadata", {})
    for field in ("metadata", "spec"):
        if not isinstance(scale.get(field) or {}, dict):
            raise _undecodable(
                scale[field], f"Scale.{field}", "v1.ObjectMeta" if field == "metadata" else "v1.ScaleSpec"
            )
    replicas = (scale.get("spec") or {}).get("replicas")
    if replicas is not None and (isinstance(replicas, bool) or not isinstance(replicas, int)):
        raise _undecodable(replicas, "ScaleSpec.spec.replicas", "int32")
    if not replicas:  # zero replicas are not written, and so have no owner
        (scale.get("spec") or {}).pop("replicas", None)
    errors = validate_scale(scale) if target.resource.custom is None else []
    if errors:
        raise invalid("autoscaling", "Scale", target.name, errors)


def _undecodable(value: Any, field: str, go_type: str) -> BadRequest:
    return BadRequest(f"json: cannot unmarshal {go_kind(value)} into Go struct field {field} of type {go_type}")
