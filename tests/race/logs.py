"""Audit logs for tests: clients send requests to a cluster in this process, in the format of kube-apiserver."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from definitions import definition
from kontend import Cluster
from kontend.cluster.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, ApiRequest
from kontend.race.analysis import Options, Result, analyse
from kontend.race.finding import RaceFinding
from kontend.race.log.log_files import Reading, events_of
from kontend.serve.audit_log import object_reference

START = 1_794_787_200.0  # 2026-11-16T00:00:00Z
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
#: Seconds that a request takes.
_TOOK = 0.002
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}


@dataclass
class Log:
    """A log that is being written."""

    level: str = "RequestResponse"
    cluster: Cluster = field(default_factory=lambda: Cluster(crds=[definition()]))
    events: list[dict[str, Any]] = field(default_factory=list)
    now: float = START

    def client(self, name: str, *, agent: str = "", address: str = "10.0.0.1", **user: Any) -> Client:
        """A client with the service account of this name."""
        account = {"username": f"system:serviceaccount:demo:{name}", **user}
        return Client(self, account, agent or f"{name}/v1 (linux/amd64)", address)

    def user(self, name: str = "ann") -> Client:
        """A person with kubectl."""
        return Client(self, {"username": name}, "kubectl/v1.35.0 (linux/amd64) kubernetes/abc", "10.0.0.99")

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def text(self) -> str:
        """The log as JSON lines."""
        return "".join(json.dumps(event) + "\n" for event in self.events)

    def write(self, path: Path) -> Path:
        """Write the log to a file."""
        path.write_text(self.text())
        return path

    def judged(self, tmp_path: Path, **options: Any) -> Result:
        """The result of the analysis of this log."""
        path = self.write(tmp_path / "audit.log")
        return analyse(events_of([str(path)], Reading()), Options(**options))

    def found(self, tmp_path: Path, **options: Any) -> list[str]:
        """The names of the findings."""
        return [finding.name for finding in self.judged(tmp_path, **options).findings]


@dataclass
class Client:
    """Sends requests, each of which takes two milliseconds."""

    log: Log
    user: dict[str, Any]
    agent: str
    address: str

    def send(self, method: str, path: str, body: Any = None, content_type: str = JSON, **query: str) -> Any:
        """Send a request; returns the body of the response."""
        log = self.log
        received, log.now = log.now, log.now + _TOOK
        data = json.dumps(body).encode() if body is not None else b""
        values = {name: (value,) for name, value in query.items()}
        request = ApiRequest(method, path, values, data, content_type=content_type, user_agent=self.agent)
        response = log.cluster.request(request)
        answer: Any = json.loads(json.dumps(response.body)) if response.watch is None else None
        reference = object_reference(path) or {}
        verb = _VERBS[method]
        if verb == "get" and "name" not in reference:
            verb = "watch" if "watch" in query else "list"
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": log.level,
            "auditID": f"{len(log.events)}",
            "stage": "ResponseComplete" if verb != "watch" else "ResponseStarted",
            "requestURI": path + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""),
            "verb": verb,
            "user": self.user,
            "sourceIPs": [self.address],
            "userAgent": self.agent,
            "objectRef": reference,
            "responseStatus": {"metadata": {}, "code": response.code},
            "requestReceivedTimestamp": _time(received),
            "stageTimestamp": _time(log.now),
        }
        if isinstance(answer, dict) and answer.get("kind") == "Status":
            event["responseStatus"] |= {name: answer[name] for name in ("reason", "message") if name in answer}
        if log.level != "Metadata" and body is not None:
            event["requestObject"] = json.loads(data)
        if log.level == "RequestResponse" and answer is not None:
            event["responseObject"] = answer
        if verb == "create" and isinstance(body, dict):
            reference.setdefault("name", body["metadata"].get("name", ""))
        log.events.append(event)
        return copy.deepcopy(answer)

    def create(self, path: str, name: str, **fields: Any) -> Any:
        """Create an object."""
        return self.send("POST", path, {**_type(path), "metadata": {"name": name}, **fields})

    def get(self, path: str) -> Any:
        """Read an object."""
        return self.send("GET", path)

    def list(self, path: str) -> Any:
        """List objects."""
        return self.send("GET", path)

    def watch(self, path: str) -> None:
        """Begin to watch."""
        self.send("GET", path, watch="1", resourceVersion="0")

    def patch(self, path: str, patch: Any, **query: str) -> Any:
        """Send a merge patch, or a JSON patch."""
        return self.send("PATCH", path, patch, JSON_PATCH if isinstance(patch, list) else MERGE_PATCH, **query)

    def put(self, path: str, obj: Any) -> Any:
        """Replace an object."""
        return self.send("PUT", path, obj)

    def apply(self, path: str, obj: Any, *, force: bool = True) -> Any:
        """Apply an object."""
        query = {"fieldManager": self.agent.partition("/")[0], **({"force": "true"} if force else {})}
        return self.send("PATCH", path, {**_type(path), **obj}, APPLY_PATCH, **query)

    def delete(self, path: str, body: Any = None) -> Any:
        """Delete an object."""
        return self.send("DELETE", path, body)


def _type(path: str) -> dict[str, str]:
    if "/widgets" in path:
        return {"apiVersion": "example.com/v1", "kind": "Widget"}
    if path.startswith("/apis/apps"):
        return {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {"apiVersion": "v1", "kind": "Secret" if "/secrets" in path else "ConfigMap"}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def sentence(finding: RaceFinding) -> str:
    """The sentence of a finding, with the plain names of its clients."""
    return "".join(part if isinstance(part, str) else part.name for part in finding.sentence)
