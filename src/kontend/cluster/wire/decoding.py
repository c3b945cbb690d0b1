"""From the body of a request to an object: media types, syntax, kind and version, unknown fields."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kontend.cluster.request import BODY_LIMIT, JSON, YAML, ApiRequest, Target
from kontend.cluster.request_text import text_of
from kontend.kube.encoding.json_syntax import go_kind
from kontend.kube.encoding.json_text import MalformedJSON, MalformedYAML, canonical, parse_json, parse_yaml, summary
from kontend.kube.errors import BadRequest, RequestEntityTooLarge, UnsupportedMediaType
from kontend.kube.field_errors import go_quote
from kontend.kube.meta.names import GroupVersionKind, api_version, split_api_version

#: Versions that are no longer served, but that the server still knows how to read.
_FORMER_VERSIONS: Final = {
    "apps": (("extensions", "v1beta1"), ("apps", "v1beta1"), ("apps", "v1beta2")),
    "networking.k8s.io": (("extensions", "v1beta1"), ("networking.k8s.io", "v1beta1")),
    "batch": (("batch", "v1beta1"),),
    "policy": (("policy", "v1beta1"),),
    "rbac.authorization.k8s.io": (
        ("rbac.authorization.k8s.io", "v1beta1"),
        ("rbac.authorization.k8s.io", "v1alpha1"),
    ),
    "coordination.k8s.io": (("coordination.k8s.io", "v1beta1"),),
}
_MEDIA_TYPES: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def check_size(body: bytes) -> None:
    """Refuses what is too large to be an object."""
    if len(body) > BODY_LIMIT:
        raise RequestEntityTooLarge(
            f"Request entity too large: limit is {BODY_LIMIT}", details={}, reason="RequestEntityTooLarge"
        )


def check_media_type(request: ApiRequest) -> None:
    """Refuses a body that is neither JSON nor YAML."""
    written = request.content_type
    if written != JSON and (written.partition(";")[0].strip() or JSON) not in (JSON, YAML):
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {_MEDIA_TYPES}"
        )


def parse_body(request: ApiRequest, *, strict: bool = False) -> tuple[Any, list[str]]:
    """Return the value in a body, and the errors of strict validation. Raises Malformed… for bad syntax."""
    check_media_type(request)
    if not request.content_type.startswith(YAML):
        value, duplicates = parse_json(request.body, find_duplicates=strict)
        return value, [f"duplicate field {go_quote(path)}" for path in duplicates]
    value, problems = parse_yaml(request.body, find_duplicates=strict)
    # The server makes JSON of it first, with sorted keys: that decides which mistake is found first.
    return orjson.loads(canonical(value)), problems


def decode_object(target: Target, request: ApiRequest) -> dict[str, Any]:
    """Return the object that a create or update sends, decoded and defaulted."""
    resource = target.resource
    validation = target.options.field_validation
    try:
        obj, problems = parse_body(request, strict=validation != "Ignore")
    except MalformedYAML as error:
        raise _unrecognized(target, error.message, request.body) from None
    except MalformedJSON as error:
        why = f"couldn't get version/kind; json parse error: {error.message}"
        raise _unrecognized(target, why, request.body) from None
    if obj is None:
        obj = {}
    if not isinstance(obj, dict):
        why = (
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {go_kind(obj)} into Go value of type "
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
        raise _unrecognized(target, why, request.body)
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str | None):
            go_field = "apiVersion" if field == "apiVersion" else "kind"
            why = (
                f"couldn't get version/kind; json parse error: json: cannot unmarshal {go_kind(obj[field])} into Go "
                f"struct field .{go_field} of type string"
            )
            raise _unrecognized(target, why, request.body)
    if resource.custom is not None and not obj.get("kind"):
        text = request.body.decode("utf-8", "replace")
        raise _unrecognized(target, f"Object 'Kind' is missing in '{text}'", request.body)
    if (obj.get("apiVersion") or "").count("/") > 1:
        raise _unrecognized(target, f"unexpected GroupVersion string: {obj['apiVersion']}", request.body)
    written = obj.get("apiVersion") or ("" if resource.custom is not None else resource.api_version)
    group, version = split_api_version(written)
    kind = obj.get("kind") or resource.kind
    if resource.custom is None:
        _check_builtin_kind(target, group, version, kind)
    elif written != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({written}) does not match the expected API version ({resource.api_version})"
        )
    target.text = text_of(resource, obj, request.body if request.content_type.startswith(JSON) else b"")
    try:
        obj, unknown = resource.normalized(obj)
    except BadRequest as error:
        raise _unhandled(kind, version, resource.kind, error.message) from None
    unknown = [f"unknown field {go_quote(path)}" for path in unknown]
    # Go's decoder of JSON names both in one pass; custom resources and YAML are searched for duplicates before.
    in_one_pass = resource.custom is None and not request.content_type.startswith(YAML)
    problems = unknown + problems if in_one_pass else problems + unknown
    if problems and validation == "Strict":
        raise _unhandled(kind, version, resource.kind, "strict decoding error: " + ", ".join(problems))
    if validation == "Warn":
        for problem in problems:
            target.warn(problem)
    obj["apiVersion"], obj["kind"] = resource.api_version, kind
    return obj


def _check_builtin_kind(target: Target, group: str, version: str, kind: str) -> None:
    """Built-in kinds are decoded into their own type; another kind cannot become that."""
    resource = target.resource
    if kind == resource.kind and (group, version) == (resource.group, resource.version):
        return
    if kind == resource.kind and (group, version) in _FORMER_VERSIONS.get(resource.group, ()):
        where = api_version(group, version)
        raise BadRequest(
            f"the API version in the data ({where}) does not match the expected API version ({resource.api_version})"
        )
    why = target.registry.why_not(resource, GroupVersionKind(group, version, kind))
    raise _unhandled(kind, version, resource.kind, why)


def _unrecognized(target: Target, why: str, body: bytes) -> BadRequest:
    return BadRequest(
        f"the object provided is unrecognized (must be of type {target.resource.kind}): {why} ({summary(body)})"
    )


def _unhandled(kind: str, version: str, wanted: str, why: str) -> BadRequest:
    return BadRequest(f"{kind} in version {go_quote(version)} cannot be handled as a {wanted}: {why}")
