"""Patches: JSON patch, merge patch, strategic merge patch and server-side apply.

Each is a transform from the stored object to the new one; the rest is an update. A patch works on the object as clients
see it, with its resourceVersion and managedFields, which is how a patch can carry a lock or reset the owners.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.ownership import applied, owners_after_update
from kontend.cluster.request import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Target,
)
from kontend.cluster.state import State, Version
from kontend.cluster.storage import check_name_matches, check_namespace_matches, read_back, served
from kontend.cluster.update import update_object
from kontend.kube.errors import (
    BadRequest,
    Invalid,
    UnsupportedMediaType,
    conflict,
    invalid,
    not_found,
)
from kontend.kube.field_errors import go_json, go_quote
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.json_patch import apply_json_patch, json_patch_strict_errors, parse_json_patch
from kontend.kube.json_syntax import go_kind
from kontend.kube.json_text import MalformedJSON, MalformedYAML, parse_json, parse_yaml
from kontend.kube.managed_fields import ManagedFields
from kontend.kube.merge_patch import apply_merge_patch, parse_merge_patch
from kontend.kube.schema import MISSING
from kontend.kube.strategic_patch import apply_strategic_patch

_BUILTIN_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_CUSTOM_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def check_patch_type(target: Target, content_type: str) -> str:
    """The patch type, if the resource takes it."""
    patch_type = content_type.partition(";")[0]
    types = _BUILTIN_TYPES if target.resource.custom is None else _CUSTOM_TYPES
    if patch_type not in types:
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
        )
    return patch_type


def patch(state: State, target: Target, patch_type: str, body: bytes) -> tuple[State, dict[str, Any], bool]:
    """Patch an object. Returns it as stored and whether it was created."""

    def transform(old: Version | None) -> tuple[dict[str, Any], ManagedFields]:
        obj, managed = patched(state, target, patch_type, body, old)
        metadata = obj["metadata"]
        if old is None and metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(target.resource.group, target.resource.plural, target.name, why)
        check_namespace_matches(target, metadata)
        check_name_matches(target, metadata)
        return obj, managed

    allow_create = patch_type == APPLY_PATCH and not target.subresource
    return update_object(state, target, transform, allow_create=allow_create)


def patched(
    state: State, target: Target, patch_type: str, body: bytes, old: Version | None
) -> tuple[dict[str, Any], ManagedFields]:
    """What a patch makes of an object, with its new managed fields."""
    resource = target.resource
    if patch_type == APPLY_PATCH:
        live = None if old is None else served(resource, old.versioned())
        obj, managed = applied(state, target, live, _apply_body(target, body), () if old is None else old.managed)
        resource.complete(obj)
        return obj, managed
    if old is None:
        raise not_found(resource.group, resource.plural, target.name)
    live = served(resource, old.versioned())
    obj, strict = _changed(target, patch_type, body, read_back(resource, old))
    _normalize(target, obj, strict)
    requested = obj["metadata"].pop("managedFields", MISSING)
    return obj, owners_after_update(state, target, live, obj, old.managed, requested)


def _changed(target: Target, patch_type: str, body: bytes, current: dict[str, Any]) -> tuple[Any, list[str]]:
    """The object after a patch that is not an apply, and what strict validation finds in the text of the patch."""
    validation = target.options.field_validation
    if patch_type == JSON_PATCH:
        operations = parse_json_patch(body, field_validation=validation)
        problems = [] if validation == "Ignore" else json_patch_strict_errors(body)
        return apply_json_patch(current, operations), problems
    if patch_type == MERGE_PATCH:
        change, problems = parse_merge_patch(body, field_validation=validation)
        return apply_merge_patch(current, change), problems
    change, problems = _strategic_body(body, strict=validation != "Ignore")
    return apply_strategic_patch(current, change, target.resource.schema), problems


def _strategic_body(body: bytes, *, strict: bool) -> tuple[dict[str, Any], list[str]]:
    try:
        change, duplicates = parse_json(body, find_duplicates=strict)
    except MalformedJSON as error:
        raise BadRequest(error.message) from None
    if not isinstance(change, dict):
        raise BadRequest(f"json: cannot unmarshal {go_kind(change)} into Go value of type map[string]interface {{}}")
    return change, [f"duplicate field {go_quote(path)}" for path in duplicates]


def _normalize(target: Target, obj: Any, strict: list[str]) -> None:
    """Decode what came out of a patch; what cannot be decoded is the patch's fault."""
    validation = target.options.field_validation
    if not isinstance(obj, dict):
        raise Invalid("the server rejected our request due to an error in our request", details={})
    before = go_json(obj) if validation == "Strict" else ""
    try:
        unknown = target.resource.normalize(obj)
    except BadRequest as error:
        raise _bad_patch(go_json(obj), error.message) from None
    problems = strict + [f'unknown field "{each}"' for each in unknown]
    if not problems or validation == "Ignore":
        return
    if validation == "Warn":
        for problem in problems:
            target.warn(problem)
        return
    raise _bad_patch(before, "strict decoding error: " + ", ".join(problems))


def _bad_patch(obj: str, why: str) -> Invalid:
    return invalid("", "", "", [invalid_field("patch", obj, why)])


def _apply_body(target: Target, body: bytes) -> dict[str, Any]:
    """The object in the body of an apply."""
    validation = target.options.field_validation
    try:
        obj, duplicates = parse_yaml(body, find_duplicates=validation != "Ignore")
    except MalformedYAML as error:
        raise BadRequest(f"error decoding YAML: {error.message}") from None
    if not isinstance(obj, dict):
        obj = {}
    if duplicates and validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {duplicates[0]}")
    for duplicate in duplicates:
        target.warn(duplicate)
    return obj
