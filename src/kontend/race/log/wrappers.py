"""Audit events out of what managed clusters put around them.

EKS, AKS and log shippers wrap the event of kube-apiserver as it is, as text or as an object: CloudWatch in `message` or
in rows of Insights, Azure in `properties.log`, container runtimes in `log`. Those are opened until an event is met. GKE
has a form of its own, `protoPayload`, which is turned into an event as far as it holds one; what it lacks is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

#: Keys under which a wrapper keeps one event, as text or as an object.
_ONE: Final = ("message", "@message", "log", "log_s", "properties", "textPayload", "jsonPayload", "structured")
#: Keys under which a wrapper keeps a list: CloudWatch, subscriptions of it, Insights, Azure's event hub, Cloud Logging.
_MANY: Final = ("events", "logEvents", "results", "records", "entries", "items")
_DEEP: Final = 8
_STATUS: Final = {3: 422, 5: 404, 6: 409, 7: 403, 9: 409, 10: 409, 16: 401}
"""HTTP codes for the gRPC codes of Cloud Logging."""

LACKS_GKE: Final = (
    "Cloud Logging keeps no request URI: field managers and dry runs are not known. Reads are only in the Data Access "
    "logs, and without them the version that a writer had read is not known"
)


def unwrapped(value: Any, lacks: Callable[[str], None], deep: int = 0) -> Iterator[Any]:
    """Yield the audit events in a JSON value; one that wraps nothing known is yielded as it is."""
    if isinstance(value, list) and not _is_row(value):
        for item in value:
            yield from unwrapped(item, lacks, deep + 1)
        return
    if not isinstance(value, (Mapping, list)) or deep > _DEEP:
        yield value
        return
    inner = _row(value) if isinstance(value, list) else _inner(value)
    if inner is not None:
        yield from unwrapped(inner, lacks, deep + 1)
    elif isinstance(value, Mapping) and isinstance(value.get("protoPayload"), Mapping):
        lacks(LACKS_GKE)
        yield _of_cloud_logging(value, value["protoPayload"])
    else:
        yield value


def _inner(value: Mapping[str, Any]) -> Any:
    """Return what a wrapper holds; None for an event, and for what is no wrapper."""
    if value.get("kind") == "Event":
        return None
    for key in _MANY:
        if isinstance(value.get(key), list):
            return value[key]
    for key in _ONE:
        held = value.get(key)
        if isinstance(held, Mapping):
            return held
        if isinstance(held, str) and held.lstrip()[:1] in ("{", "["):
            try:
                return orjson.loads(held)
            except orjson.JSONDecodeError:
                return None
    return None


def _is_row(value: list[Any]) -> bool:
    """Recognise a row of CloudWatch Insights: a list of fields with their values."""
    return bool(value) and all(isinstance(cell, Mapping) and {"field", "value"} <= set(cell) for cell in value)


def _row(value: list[Any]) -> Any:
    return {str(cell["field"]): cell["value"] for cell in value}


def _of_cloud_logging(entry: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Turn an entry of Cloud Logging into an audit event.

    The object is named by `resourceName`, as in `apps/v1/namespaces/default/deployments/web/status`; the verb is the
    last part of `methodName`.
    """
    method, at = str(payload.get("methodName", "")), entry.get("timestamp")
    request, response = _object(payload.get("request")), _object(payload.get("response"))
    full = response is not None and not (response.get("kind") == "Status" and "metadata" not in response)
    status = payload.get("status")
    code = status.get("code", 0) if isinstance(status, Mapping) else 0
    said = status.get("message", "") if isinstance(status, Mapping) else ""
    metadata = payload.get("requestMetadata")
    agent = metadata.get("callerSuppliedUserAgent", "") if isinstance(metadata, Mapping) else ""
    who = payload.get("authenticationInfo")
    user = who.get("principalEmail", "") if isinstance(who, Mapping) else ""
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse" if full else "Request" if request is not None else "Metadata",
        "stage": "ResponseComplete",
        "verb": method.rpartition(".")[2],
        "user": {"username": user},
        "userAgent": agent,
        "objectRef": _reference(str(payload.get("resourceName", ""))),
        "responseStatus": {"code": _STATUS.get(code, 500) if code else 200, "message": said},
        "requestObject": request,
        "responseObject": response,
        "requestReceivedTimestamp": at,
        "stageTimestamp": at,
    }


def _object(value: Any) -> dict[str, Any] | None:
    return {key: held for key, held in value.items() if key != "@type"} if isinstance(value, Mapping) else None


def _reference(name: str) -> dict[str, str]:
    group, version, *rest = [*name.split("/"), "", ""]
    rest = [part for part in rest if part]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    resource, named, subresource = [*rest, "", "", ""][:3]
    return {
        "apiGroup": "" if group == "core" else group,
        "apiVersion": version,
        "resource": resource,
        "namespace": namespace,
        "name": named,
        "subresource": subresource,
    }
