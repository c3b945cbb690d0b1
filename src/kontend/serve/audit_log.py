"""The audit log: what was asked and what was answered, a JSON line each, in the format of Kubernetes.

That is ``audit.k8s.io/v1`` at the level RequestResponse, with the stage RequestReceived left out, as clusters usually
configure it: an event ``ResponseComplete`` for each request, and for a watch ``ResponseStarted`` when it begins.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from kontend.cluster.request import ApiRequest
from kontend.cluster.response import ApiResponse
from kontend.kube.encoding.json_text import MalformedJSON, parse_json
from kontend.kube.encoding.yaml_text import MalformedYAML, parse_yaml
from kontend.serve.exchange import Exchange
from kontend.serve.media import JSON_TYPE, encode

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_ALLOWED: Final = {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}


class AuditLog:
    """A file that events are appended to."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8", buffering=1 << 16)
        self._flushing = False

    def started(self, exchange: Exchange, response: ApiResponse) -> None:
        """A watch has begun."""
        self._write(exchange, response, "ResponseStarted")

    def complete(self, exchange: Exchange, response: ApiResponse) -> None:
        """An answer is complete."""
        self._write(exchange, response, "ResponseComplete")

    def _write(self, exchange: Exchange, response: ApiResponse, stage: str) -> None:
        if self._file.closed:
            return
        self._file.write(encode(_event(exchange, response, stage), JSON_TYPE).decode())
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


def _event(exchange: Exchange, response: ApiResponse, stage: str) -> dict[str, Any]:
    request, client = exchange.request, exchange.client
    reference = object_reference(request.path)
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": exchange.audit_id,
        "stage": stage,
        "requestURI": exchange.target,
        "verb": _verb(request, reference),
        "user": {"username": client.user.name, "groups": list(client.user.groups)} if client.user.name else {},
        "sourceIPs": [client.address],
        "userAgent": client.user_agent,
    }
    sent = _request_object(request)
    if reference is not None:
        event["objectRef"] = _completed(reference, sent, response)
    event["responseStatus"] = _status(response)
    if sent is not None:
        event["requestObject"] = sent
    if response.watch is None and isinstance(response.body, dict) and reference is not None:
        event["responseObject"] = response.body
    event["requestReceivedTimestamp"] = _micro_time(exchange.received_at)
    event["stageTimestamp"] = _micro_time(time.time())
    event["annotations"] = dict(_ALLOWED) if response.code != 401 else {}
    return event


def object_reference(path: str) -> dict[str, str] | None:
    """What a path is about, or None when it is not a resource.

    >>> object_reference("/api/v1/namespaces/default/pods/web/status")
    {'resource': 'pods', 'namespace': 'default', 'name': 'web', 'apiVersion': 'v1', 'subresource': 'status'}
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    reference = {
        "resource": rest[0],
        "namespace": namespace,
        "name": rest[1] if len(rest) > 1 else "",
        "apiGroup": group,
        "apiVersion": version,
        "subresource": "/".join(rest[2:]),
    }
    return {name: value for name, value in reference.items() if value}


def _completed(reference: dict[str, str], sent: Any, response: ApiResponse) -> dict[str, str]:
    """A create names its object in the body; an update says which version it replaces."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    if not isinstance(metadata, dict):
        return reference
    answered = response.body.get("metadata") if isinstance(response.body, dict) else None
    name = answered.get("name") if isinstance(answered, dict) else None
    found = {"name": reference.get("name") or name or metadata.get("name")}
    found |= {key: metadata.get(key) for key in ("uid", "resourceVersion")}
    return {**reference, **{key: value for key, value in found.items() if isinstance(value, str) and value}}


def _verb(request: ApiRequest, reference: dict[str, str] | None) -> str:
    method = request.method
    if reference is None:
        return method.lower()
    if method == "DELETE":
        return "delete" if "name" in reference else "deletecollection"
    if method in ("GET", "HEAD"):
        if "name" in reference and "/watch/" not in request.path:
            return "get"
        return "watch" if request.first("watch").lower() not in ("", "0", "false") else "list"
    return _VERBS.get(method, method.lower())


def _status(response: ApiResponse) -> dict[str, Any]:
    body = response.body
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("apiVersion") == "v1":
        return {"metadata": {}, **{key: value for key, value in body.items() if key not in ("kind", "apiVersion")}}
    return {"metadata": {}, "code": response.code}


def _request_object(request: ApiRequest) -> Any:
    """The body as JSON; protobuf has been made JSON of before. What cannot be read is left out."""
    if not request.body:
        return None
    try:
        if "yaml" in request.content_type:
            return parse_yaml(request.body)[0]
        return parse_json(request.body)[0]
    except (MalformedJSON, MalformedYAML):
        return None


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
