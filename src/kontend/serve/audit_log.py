"""The audit log: requests and responses, one JSON line each, in the format of Kubernetes.

That is ``audit.k8s.io/v1`` at the level RequestResponse, unless a policy says otherwise, with the stage RequestReceived
left out, as clusters usually configure it: an event ``ResponseComplete`` for each request, and for a watch
``ResponseStarted`` when it begins.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kontend.cluster.request import ApiRequest, split_path
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.encoding.json_text import MalformedJSON, MalformedYAML, parse_json, parse_yaml
from kontend.serve.audit_policy import AuditPolicy, Level, Treatment
from kontend.serve.http.media import JSON_TYPE, encode
from kontend.serve.requests.exchange import Exchange

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_ALLOWED: Final = {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}


class AuditLog:
    """A file that events are appended to.

    A log that cannot be written never affects a request, as in kube-apiserver: events are dropped and counted, and the
    first failure is reported on standard error.
    """

    def __init__(self, path: Path, policy: AuditPolicy | None = None) -> None:
        self._path = path
        self._policy = policy
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if stat.S_ISREG(os.fstat(self._file).st_mode):
            os.fchmod(self._file, 0o600)
        self._lines: list[bytes] = []
        self._flushing = False
        #: The last line was written in part only.
        self._torn = False
        #: Events that could not be written.
        self.dropped = 0

    def started(self, exchange: Exchange, response: ApiResponse) -> None:
        """Log that a watch has begun."""
        self._log(exchange, response, "ResponseStarted")

    def complete(self, exchange: Exchange, response: ApiResponse) -> None:
        """Log that an answer is complete."""
        self._log(exchange, response, "ResponseComplete")

    def _log(self, exchange: Exchange, response: ApiResponse, stage: str) -> None:
        if self._file < 0:
            return
        try:
            event = self._event(exchange, response, stage)
            if event is None:
                return
            self._lines.append(encode(event, JSON_TYPE))
        except Exception as error:  # an event that cannot be made must not cost the client its answer
            self._drop(1, error)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _event(self, exchange: Exchange, response: ApiResponse, stage: str) -> dict[str, Any] | None:
        """Return what is logged of a stage of a request; None where the policy leaves it out."""
        request = exchange.request
        reference = object_reference(request.path)
        verb = _verb(request, reference)
        treatment = Treatment()
        if self._policy is not None:
            treatment = self._policy.of(exchange.client.user, request.path, verb, reference)
        if treatment.level is Level.NONE or stage in treatment.omitted_stages:
            return None
        return _event(exchange, response, stage, reference, verb, treatment)

    def _flush(self) -> None:
        self._flushing = False
        lines, self._lines = self._lines, []
        if self._file < 0 or not lines:
            return
        start = b"\n" if self._torn else b""
        data = start + b"".join(lines)
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
            self._torn = False
        except OSError as error:
            if written:
                self._torn = data[written - 1 : written] != b"\n"
            self._drop(len(lines) - data[len(start) : written].count(b"\n"), error)

    def _drop(self, events: int, error: Exception) -> None:
        if not self.dropped:
            reason = error.strerror if isinstance(error, OSError) else error
            sys.stderr.write(f"kontend serve: --audit-log {self._path}: {reason}; events are dropped and counted\n")
        self.dropped += events

    def close(self) -> None:
        """Write what is left, and says how much is missing."""
        self._flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self.dropped:
            sys.stderr.write(f"kontend serve: --audit-log {self._path}: {self.dropped} events were dropped\n")


def _event(
    exchange: Exchange,
    response: ApiResponse,
    stage: str,
    reference: dict[str, str] | None,
    verb: str,
    treatment: Treatment,
) -> dict[str, Any]:
    request, client = exchange.request, exchange.client
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": treatment.level.label,
        "auditID": exchange.audit_id,
        "stage": stage,
        "requestURI": exchange.target,
        "verb": verb,
        "user": {"username": client.user.name, "groups": list(client.user.groups)} if client.user.name else {},
        "sourceIPs": [client.address],
        "userAgent": client.user_agent,
    }
    sent = _request_object(request)
    if reference is not None:
        event["objectRef"] = _completed(reference, sent, response)
    event["responseStatus"] = _status(response)
    if sent is not None and treatment.level >= Level.REQUEST:
        event["requestObject"] = _shown(sent, treatment)
    answered = response.watch is None and isinstance(response.body, dict) and reference is not None
    if answered and treatment.level >= Level.REQUEST_RESPONSE:
        event["responseObject"] = _shown(response.body, treatment)
    event["requestReceivedTimestamp"] = _micro_time(exchange.received_at)
    event["stageTimestamp"] = _micro_time(time.time())
    event["annotations"] = dict(_ALLOWED) if response.code != 401 else {}
    return event


def _shown(body: Any, treatment: Treatment) -> Any:
    """Return a body without the managed fields of its object, or of its items, where the policy leaves them out."""
    if not treatment.omit_managed_fields or not isinstance(body, dict):
        return body
    shown = {**body}
    if isinstance(body.get("metadata"), dict):
        shown["metadata"] = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    if isinstance(body.get("items"), list):
        shown["items"] = [_shown(item, treatment) for item in body["items"]]
    return shown


def object_reference(path: str) -> dict[str, str] | None:
    """Return the resource and object of a path, or None where it names no resource.

    >>> object_reference("/api/v1/namespaces/default/pods/web/status")
    {'resource': 'pods', 'namespace': 'default', 'name': 'web', 'apiVersion': 'v1', 'subresource': 'status'}
    """
    parts = split_path(path)
    if parts is None:
        return None
    group, version, rest = parts
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
    """Return a create names its object in the body; an update says which version it replaces."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    if not isinstance(metadata, dict):
        return reference
    answered = response.body.get("metadata") if isinstance(response.body, dict) else None
    name = answered.get("name") if isinstance(answered, dict) else None
    values = {"name": reference.get("name") or name or metadata.get("name")}
    values |= {key: metadata.get(key) for key in ("uid", "resourceVersion")}
    return {**reference, **{key: value for key, value in values.items() if isinstance(value, str) and value}}


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
    """Return the body as JSON; protobuf has been made JSON of before. What cannot be read is left out."""
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
