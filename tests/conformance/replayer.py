"""Plays recorded exchanges with a real kube-apiserver back to a server, and compares the answers.

A case is a list of HTTP steps and the answers, in which whatever may honestly differ between two servers (uids,
resourceVersions, times, generated names, addresses) stands as a token. ``rv-1`` twice means that the version did not
change, so a write that must not make a new version is visible.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

HERE = Path(__file__).parent
PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_DUMPED_OBJECT = re.compile(r'Invalid value: "\{.*\}"', re.DOTALL)
_UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_IPV4 = re.compile(r"\b10\.\d+\.\d+\.\d+\b")


@dataclass(frozen=True)
class Exchange:
    """One HTTP request of a case."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None
    content_type: str
    agent: str
    accept: str


class Server(Protocol):
    """Answers requests."""

    def send(self, exchange: Exchange) -> tuple[int, Any]:
        """The status code and the parsed body (text where it is not JSON)."""


@runtime_checkable
class Patient(Protocol):
    """A server with controllers, which need time."""

    def sleep(self, seconds: float) -> None:
        """Let controllers work for so long."""


def load(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads((HERE / "cases" / f"{name}.json").read_text())
    return cases


def definitions() -> list[dict[str, Any]]:
    """The custom resource definitions that the cases use."""
    crds: list[dict[str, Any]] = json.loads((HERE / "crds.json").read_text())
    return crds


def play(server: Server, case: Mapping[str, Any]) -> list[Any]:
    """Carry out a case in a namespace of its own; its answers, comparable with the recorded ones."""
    slug = re.sub(r"[^a-z0-9-]+", "-", case["id"].lower()).strip("-")[:36].strip("-")
    namespace = f"c-{slug}-{hashlib.sha256(case['id'].encode()).hexdigest()[:6]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    server.send(_exchange({"do": "POST", "path": "/api/v1/namespaces", "body": body}))
    raw: list[Any] = []
    answers: list[Any] = []
    normaliser = _Normaliser(namespace)
    for recorded in case["steps"]:
        step = _fill(recorded, namespace, raw)
        if "sleep" in step:
            if isinstance(server, Patient):
                server.sleep(step["sleep"])
            raw.append(None)
            answers.append(None)
            continue
        code, parsed = server.send(_exchange(step))
        if step["do"] == "WATCH":
            events = parsed if isinstance(parsed, list) else [parsed]
            kept = [event for event in events if event.get("type") != "BOOKMARK" or step.get("bookmarks")]
            parsed = {"events": kept}
        raw.append(parsed)
        picked = _pick(parsed, step["pick"]) if step.get("pick") and isinstance(parsed, dict) else parsed
        normaliser.collect_uids(parsed)
        answers.append({"code": code, "body": normaliser.answer(picked)})
    return answers


def first_difference(expected: Sequence[Any], answers: Sequence[Any]) -> int | None:
    """The first step whose answers differ."""
    for index, (want, got) in enumerate(zip(expected, answers, strict=True)):
        if want != got:
            return index
    return None


def _exchange(step: Mapping[str, Any]) -> Exchange:
    query = {name: str(value) for name, value in (step.get("query") or {}).items()}
    method = step["do"]
    if method == "WATCH":
        method = "GET"
        query.update(watch="1", timeoutSeconds=str(step.get("seconds", 1)))
    body = step.get("body")
    data = None
    if body is not None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Exchange(
        method=method,
        path=step["path"],
        query=query,
        body=data,
        content_type=PATCH_TYPES.get(step.get("as", ""), step.get("as") or "application/json"),
        agent=step.get("agent", "conformance/1.0"),
        accept=step.get("accept", "application/json"),
    )


def _lookup(answers: Sequence[Any], expression: str) -> Any:
    """``2.metadata.resourceVersion``: from answer 2, or the last one before it that has such a value."""
    head, *rest = expression.split(".")
    for answer in reversed(answers[: int(head) + 1]):
        value = answer
        try:
            for part in rest:
                value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, TypeError, IndexError):
            continue
        return value
    return ""


def _fill(value: Any, namespace: str, answers: Sequence[Any]) -> Any:
    """Replace ``$ns`` and ``${STEP.path}`` in a request."""
    if isinstance(value, dict):
        return {_fill(k, namespace, answers): _fill(v, namespace, answers) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(v, namespace, answers) for v in value]
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{([^}]+)\}", value)
        if whole:
            return _lookup(answers, whole.group(1))
        value = re.sub(r"\$\{([^}]+)\}", lambda match: str(_lookup(answers, match.group(1))), value)
        return value.replace("$ns", namespace)
    return value


def _pick(value: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """Keep only the named paths of a large answer."""
    out: dict[str, Any] = {}
    for path in paths:
        selected: Any = value
        for part in path.split("."):
            match = re.fullmatch(r"\[(\w+)=([^\]]+)\]", part)
            if match and isinstance(selected, list):
                selected = next((item for item in selected if item.get(match[1]) == match[2]), None)
            elif isinstance(selected, list) and part.isdigit():
                selected = selected[int(part)] if int(part) < len(selected) else None
            elif isinstance(selected, dict):
                selected = selected.get(part)
            else:
                selected = None
        out[path] = selected
    return out


class _Normaliser:
    """Turns the raw answers of one case into comparable ones."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.uids: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def collect_uids(self, value: Any, key: str = "") -> None:
        """Name every uid before any text that may mention it is rewritten."""
        if isinstance(value, dict):
            for name in sorted(value):
                self.collect_uids(value[name], name)
        elif isinstance(value, list):
            for item in value:
                self.collect_uids(item, key)
        elif isinstance(value, str) and key == "uid" and value:
            self._token(self.uids, value, "uid")

    def answer(self, value: Any) -> Any:
        """One answer, comparable."""
        self.collect_uids(value)
        return self._body(value)

    def _token(self, table: dict[str, str], value: str, prefix: str) -> str:
        return table.setdefault(value, f"{prefix}-{len(table) + 1}")

    def _text(self, value: str) -> str:
        value = _DUMPED_OBJECT.sub("Invalid value: <object>", value.replace(self.namespace, "$ns"))
        for table in (self.uids, self.names):
            for raw, token in table.items():
                value = value.replace(raw, token)
        if "resourceVersion" in value or "ResourceVersion" in value:
            for raw, token in sorted(self.versions.items(), key=lambda pair: -len(pair[0])):
                value = re.sub(rf"\b{re.escape(raw)}\b", token, value)
        return _IPV4.sub("<ip>", value)

    def _body(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            entries = [self._body(item, "" if key in ("managedFields", "causes") else key) for item in value]
            if key in ("managedFields", "causes"):
                entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
            return entries
        if isinstance(value, str):
            if (key == "uid" and value) or _UUID.match(value):
                return self._token(self.uids, value, "uid")
            if key == "resourceVersion" and value:
                return self._token(self.versions, value, "rv")
            return "<time>" if _TIME.fullmatch(value) else self._text(value)
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        meta = value.get("metadata")
        if isinstance(meta, dict) and isinstance(meta.get("generateName"), str) and meta.get("name"):
            self.names.setdefault(meta["name"], f"<{meta['generateName']}generated>")
        is_list = isinstance(value.get("kind"), str) and value["kind"].endswith("List")
        out = {}
        for name in sorted(value):
            item = value[name]
            if name == "metadata" and is_list and isinstance(item, dict):
                hidden = ("resourceVersion", "continue")
                out[name] = {k: f"<{k}>" if k in hidden and v else v for k, v in item.items()}
            else:
                out[self._text(name)] = self._body(item, name)
        return out
