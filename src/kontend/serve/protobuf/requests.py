"""Protobuf requests, turned into the JSON requests they stand for.

Go clients send the objects of built-in kinds in protobuf and read answers in JSON as well, so only requests need it. A
body is four magic bytes and an envelope (``runtime.Unknown``) that holds apiVersion, kind and the object's own message.
The server fills in what the envelope does not say from the path of the request, and so does :func:`as_json`, which
also puts mistakes into the sentences that kube-apiserver uses for that path.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import orjson

from kontend.cluster.request import BODY_LIMIT, JSON, ApiRequest, PageNotFound, Target, route
from kontend.cluster.resources import Registry
from kontend.kube import kinds
from kontend.kube.encoding.json_text import summary
from kontend.kube.errors import ApiError, BadRequest, UnsupportedMediaType
from kontend.kube.field_errors import go_quote
from kontend.kube.meta.names import GroupVersionKind, api_version, split_api_version
from kontend.kube.schema.tree import Schema
from kontend.serve.protobuf.kinds import message_of
from kontend.serve.protobuf.message import Message, nested, one
from kontend.serve.protobuf.wire import BYTES, Malformed

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"

_NOTHING: Final = GroupVersionKind("", "", "")


def as_json(registry: Registry, request: ApiRequest) -> ApiRequest:
    """Return the same request with a JSON body, if its body is protobuf; else the request itself.

    Raises an :class:`ApiError` for what cannot be read. A request that will be refused anyway is left as it is.
    """
    if not request.content_type.startswith(PROTOBUF) or request.method not in ("POST", "PUT", "DELETE"):
        return request
    if len(request.body) > BODY_LIMIT or (request.method == "DELETE" and not request.body):
        return request
    try:
        target = route(registry, request)
    except (PageNotFound, ApiError):
        return request
    if request.method == "DELETE":
        obj = decode_request(request.body, GroupVersionKind("", "v1", "DeleteOptions"))
    else:
        obj = _object(target, request.body)
    try:
        return replace(request, body=orjson.dumps(obj), content_type=JSON)
    except TypeError:  # no object that anybody needs is nested 250 levels deep
        raise BadRequest("exceeded max depth") from None


def decode_request(body: bytes, default: GroupVersionKind = _NOTHING) -> dict[str, Any]:
    """Return the object in a protobuf body; ``default`` says what it is where the envelope does not.

    An object of an unknown kind has only its apiVersion and kind. Raises :class:`BadRequest` with what is wrong.

    >>> decode_request(b"k8s\\0\\n\\x0f\\n\\x02v1\\x12\\tConfigMap" + b"\\x12\\x06\\n\\x04\\n\\x02cm")
    {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'cm'}}
    """
    try:
        kind, raw = _open(body, default)
        return _read(kind, raw)
    except Malformed as error:
        raise BadRequest(str(error)) from None


def _object(target: Target, body: bytes) -> dict[str, Any]:
    resource = target.resource
    if resource.custom is not None:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml"
        )
    default = GroupVersionKind(resource.group, resource.version, resource.kind)
    info = resource.subresources.get(target.subresource)
    if info is not None:
        default = GroupVersionKind(info.group, info.version, info.kind)
    try:
        kind, raw = _open(body, default)
    except Malformed as error:
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {default.kind}): {error} ({summary(body)})"
        ) from None
    try:
        return _read(kind, raw)
    except Malformed as error:
        raise BadRequest(
            f"{kind.kind} in version {go_quote(kind.version)} cannot be handled as a {default.kind}: {error}"
        ) from None


def _open(body: bytes, default: GroupVersionKind) -> tuple[GroupVersionKind, bytes]:
    """Return the apiVersion and kind in the envelope, and the bytes of the object."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(MAGIC):
        raise Malformed(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
        )
    if len(body) == len(MAGIC):
        raise Malformed("empty body")
    envelope = _UNKNOWN.value(body, len(MAGIC), len(body))
    names = envelope.get("typeMeta", {})
    written = names.get("apiVersion", "")
    # What is no apiVersion at all counts as none.
    group, version = split_api_version(written) if written.count("/") < 2 else ("", "")
    if not version:
        group, version = default.group, default.version
    return GroupVersionKind(group, version, names.get("kind") or default.kind), envelope.get("raw", b"")


def _describe_type_meta(message: Message) -> None:
    message.add(1, "APIVersion", {BYTES: "apiVersion"})
    message.add(2, "Kind", {BYTES: "kind"})


def _describe_unknown(message: Message) -> None:
    message.add(1, "TypeMeta", {BYTES: nested("typeMeta", Message("TypeMeta", _describe_type_meta))})
    message.add(2, "Raw", {BYTES: one("raw", lambda data, pos, stop: data[pos:stop])})
    message.add(3, "ContentEncoding", {BYTES: "contentEncoding"})
    message.add(4, "ContentType", {BYTES: "contentType"})


_UNKNOWN: Final = Message("Unknown", _describe_unknown)


def _read(kind: GroupVersionKind, raw: bytes) -> dict[str, Any]:
    obj: dict[str, Any] = {"apiVersion": api_version(kind.group, kind.version), "kind": kind.kind}
    schema = _schema_of(kind)
    if schema is not None:
        try:
            message_of(schema).read(obj, raw, 0, len(raw))
        except RecursionError:
            raise Malformed("exceeded max depth") from None
    return obj


def _schema_of(kind: GroupVersionKind) -> Schema | None:
    """Return the schema of a kind; those of the API machinery, such as options, belong to every version of every
    group."""
    try:
        return kinds.schema_of(*kind)
    except KeyError:
        pass
    try:
        return kinds.type_schema(f"meta/v1.{kind.kind}")
    except KeyError:
        return None
