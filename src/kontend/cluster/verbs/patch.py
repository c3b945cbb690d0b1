"""Patches: JSON patch, merge patch, strategic merge patch and server-side apply.

Each is a transform from the stored object to the new one; the rest is an update. A patch works on the object as clients
see it, with its resourceVersion and managedFields, which is how a patch can carry a lock or reset the owners.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from kontend.cluster.ownership import applied, owners_after_update
from kontend.cluster.request import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Target,
)
from kontend.cluster.request_text import RequestText, stored_text, text_of, with_owned_texts
from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.cluster.storage import check_name_matches, check_namespace_matches, read_back, served
from kontend.cluster.verbs.update import update_object
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.encoding.json_syntax import go_kind
from kontend.kube.encoding.json_text import MalformedJSON, MalformedYAML, parse_json, parse_yaml
from kontend.kube.errors import (
    ApiError,
    BadRequest,
    Invalid,
    UnsupportedMediaType,
    conflict,
    invalid,
    not_found,
    rejected,
)
from kontend.kube.field_errors import go_json, go_quote
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.meta.names import GroupVersionKind
from kontend.kube.patches.json_patch import apply_json_patch, json_patch_strict_errors, parse_json_patch
from kontend.kube.patches.merge_patch import apply_merge_patch, parse_merge_patch
from kontend.kube.patches.patched_text import Touched, arranged, touched_by_merge, touched_by_operations
from kontend.kube.patches.strategic_patch import apply_strategic_patch
from kontend.kube.patches.strategic_rules import go_print
from kontend.kube.schema.tree import MISSING

_BUILTIN_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_CUSTOM_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def check_patch_type(target: Target, content_type: str) -> str:
    """Return the patch type, if the resource takes it."""
    patch_type = content_type.partition(";")[0]
    types = _BUILTIN_TYPES if target.resource.custom is None else _CUSTOM_TYPES
    if patch_type not in types and target.resource.custom is None:
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
    if patch_type not in types:
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
        )
    return patch_type


def patch(state: State, target: Target, patch_type: str, body: bytes) -> tuple[State, dict[str, Any], bool]:
    """Patches an object. Returns it as stored and whether it was created."""

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
    """Apply a patch to an object; return the new object and its managed fields."""
    resource = target.resource
    if patch_type == APPLY_PATCH:
        live = None if old is None else served(resource, old.versioned())
        change, complain = apply_body(target, body)
        obj, managed, changed = applied(state, target, live, change, () if old is None else old.managed)
        complain()
        # An apply that changes nothing leaves the object itself alone, with the texts it has.
        same = old is not None and bool(resource.strategy.raw_fields) and _contents(obj) == _contents(live or obj)
        target.text = RequestText(raw=stored_text(resource, old.body)) if old and same else text_of(resource, obj)
        return resource.completed(obj, fills=changed), managed
    if old is None:
        raise not_found(resource.group, resource.plural, target.name)
    live = served(resource, old.versioned())
    try:
        quick = _patched_content(target, patch_type, body, old)
    except ApiError:
        quick = None  # the message may show the whole object
    if quick is not None:
        with_owned_texts(quick, target.text, live, stored_text(resource, old.body))
        return quick, owners_after_update(state, target, live, quick, old.managed, MISSING)
    current = read_back(resource, old)
    if patch_type == STRATEGIC_MERGE_PATCH:
        change, problems = _strategic_body(target, body)
        merged = apply_strategic_patch(current, change, resource.schema)
        obj = _normalize(target, merged, problems, go_print(change))
    else:
        changed, problems, touched = _changed(target, patch_type, body, current)
        obj = _normalize(target, changed, problems, touched=touched)
    requested = obj["metadata"].pop("managedFields", MISSING)
    with_owned_texts(obj, target.text, live, stored_text(resource, old.body))
    return obj, owners_after_update(state, target, live, obj, old.managed, requested)


def _patched_content(target: Target, patch_type: str, body: bytes, old: Version) -> dict[str, Any] | None:
    """Return an object after a merge patch that leaves the managed fields alone, which then need no decoding."""
    validation = target.options.field_validation
    if patch_type != MERGE_PATCH or validation == "Strict":
        return None
    change, problems = parse_merge_patch(body, field_validation=validation)
    metadata = change.get("metadata", MISSING)
    if metadata is not MISSING and (not isinstance(metadata, dict) or "managedFields" in metadata):
        return None
    obj = apply_merge_patch(served(target.resource, old.versioned()), change)
    # Without changes, the metadata of a custom resource is as it was stored.
    return _normalize(target, obj, problems, decodes_metadata=metadata is not MISSING, explains=False)


def _changed(target: Target, patch_type: str, body: bytes, current: dict[str, Any]) -> tuple[Any, list[str], Touched]:
    """Return the object after a JSON or merge patch, error of strict validation in the patch, and what it touches."""
    validation = target.options.field_validation
    if patch_type == JSON_PATCH:
        operations = parse_json_patch(body, field_validation=validation)
        problems = [] if validation == "Ignore" else json_patch_strict_errors(body)
        return apply_json_patch(current, operations), problems, touched_by_operations(operations)
    change, problems = parse_merge_patch(body, field_validation=validation)
    return apply_merge_patch(current, change), problems, touched_by_merge(current, change)


def _strategic_body(target: Target, body: bytes) -> tuple[dict[str, Any], list[str]]:
    strict = target.options.field_validation != "Ignore"
    try:
        change, duplicates = parse_json(body, find_duplicates=strict)
    except MalformedJSON as error:
        raise BadRequest(error.message) from None
    if change is None:
        change = {}
    if not isinstance(change, dict):
        raise BadRequest(f"json: cannot unmarshal {go_kind(change)} into Go value of type map[string]interface {{}}")
    return change, [f"duplicate field {go_quote(path)}" for path in duplicates]


def _normalize(
    target: Target,
    obj: Any,
    problems: list[str],
    strategic: str = "",
    *,
    touched: Touched | None = None,
    decodes_metadata: bool = True,
    explains: bool = True,
) -> dict[str, Any]:
    """Decode the result of a patch; a result that cannot be decoded is the patch's fault.

    ``strategic`` is the text of a strategic merge patch, which has another decoder and is shown instead of the object;
    ``touched`` says what another patch has touched. The metadata of a custom resource need not be decoded. Unless this
    ``explains`` the mistake, any error will do.
    """
    validation = target.options.field_validation
    resource = target.resource
    if not isinstance(obj, dict):
        raise rejected("the patch makes something else of the object")
    # Decoding uses up the object.
    before = orjson.dumps(obj) if explains and not strategic else b""

    def text() -> Any:
        schema = resource.schema if resource.custom is None else None
        return arranged(orjson.loads(before), schema, touched) if before else obj

    def bad_patch(why: str) -> Invalid:
        return _bad_patch(strategic or go_json(text(), sort_keys=False), why)

    if resource.custom is not None and not obj.get("kind"):
        raise bad_patch(f"Object 'Kind' is missing in '{go_json(text(), sort_keys=False)}'")
    fields: dict[str, Any] = obj
    if strategic:  # it is applied to the type of the resource, which keeps its name
        fields["apiVersion"], fields["kind"] = resource.api_version, resource.kind
    fields["apiVersion"] = fields.get("apiVersion") or resource.api_version
    fields["kind"] = fields.get("kind") or resource.kind
    if resource.custom is None and (fields["apiVersion"], fields["kind"]) != (resource.api_version, resource.kind):
        group, _, version = str(fields["apiVersion"]).rpartition("/")
        written = GroupVersionKind(group, version, str(fields["kind"]))
        raise bad_patch(target.registry.why_not(resource, written))
    target.text = text_of(resource, fields)
    try:
        fields, unknown = resource.normalized(fields, from_maps=bool(strategic), decodes_metadata=decodes_metadata)
    except BadRequest as error:
        raise bad_patch((_first_mistake(resource, text()) if before else "") or error.message) from None
    problems = problems + [f"unknown field {go_quote(path)}" for path in unknown]
    if problems and validation == "Strict":
        raise bad_patch("strict decoding error: " + ", ".join(problems))
    if validation == "Warn":
        for problem in problems:
            target.warn(problem)
    return fields


def _contents(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _first_mistake(resource: Resource, obj: dict[str, Any]) -> str:
    """Return the decoder's complaint about an object whose keys are in the order of its text."""
    try:
        resource.normalized(obj)
    except BadRequest as error:
        return error.message
    return ""


def _bad_patch(obj: str, why: str) -> Invalid:
    return invalid("", "", "", [invalid_field("patch", obj, why)])


def apply_body(target: Target, body: bytes) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return the object in the body of an apply, and the check for repeated keys, which follows the apply itself."""
    validation = target.options.field_validation
    try:
        obj, problems = parse_yaml(body, find_duplicates=validation != "Ignore")
    except MalformedYAML as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error.message}") from None
    if obj is None:
        obj = {}
    if not isinstance(obj, dict):
        why = f"json: cannot unmarshal {go_kind(obj)} into Go value of type map[string]interface {{}}"
        raise BadRequest(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")

    def complain() -> None:
        for problem in problems:
            problem = f"error converting YAML to JSON: {problem}"
            if validation == "Strict":
                raise BadRequest(f"error strict decoding YAML: {problem}")
            target.warn(problem)

    return obj, complain
