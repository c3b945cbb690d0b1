"""Requests of a Go client as calls, and responses to them as HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.external import CALL, EXTERNAL
from kontend.kube.encoding.json_text import canonical
from kontend.kube.meta.names import parse_kind
from kontend.runtime.client.call import Call

#: The plural of a resource by group and version, and its kind.
Kinds = Mapping[tuple[str, str, str], str]
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_CREATED = 201


def call_of(written: Mapping[str, Any], kinds: Kinds) -> Call:
    """A call as the Go process describes it."""
    if written["type"] == "cached":
        labels = written.get("labels")
        return Call(
            written["verb"],
            written["kind"],
            written.get("namespace") or "",
            written.get("name") or "",
            query=(("labelSelector", labels),) if labels else (),
            cached=True,
            form=written.get("form") or "",
        )
    if written["type"] == "external":
        return Call("create", EXTERNAL, "", written["name"], CALL, canonical(written["body"]))
    method = written["method"]
    group, version, namespace, plural, name, subresource = _address(written["path"])
    kind = kinds.get((group, version, plural))
    if kind is None:
        raise Unsupported(f"{method} {written['path']}: no definition serves this path (--crds)")
    verb = _VERBS.get(method) or {"GET": "get", "DELETE": "delete"}[method]
    if not name and method in ("GET", "DELETE"):
        verb = "list" if method == "GET" else "deletecollection"
    # The timeout is that of the client; the server of the explorer takes no time.
    query = tuple(sorted(pair for pair in parse_qsl(written.get("query") or "") if pair[0] != "timeout"))
    body = written.get("body")
    return Call(
        verb,
        kind,
        namespace,
        name,
        subresource,
        canonical(body) if body is not None and method != "GET" else b"",
        written.get("contentType") or "application/json",
        query,
    )


def _address(path: str) -> tuple[str, str, str, str, str, str]:
    parts = path.strip("/").split("/")
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    name, subresource, *_ = [*rest[1:], "", ""]
    return group, version, namespace, rest[0], name, subresource


def answer_of(call: Call, kind: bytes, body: bytes) -> dict[str, Any]:
    """The response to a call as code and body; the code is 0 for one that was lost."""
    if kind == b"?":
        return {"code": 0}
    document = orjson.loads(body)
    if kind == b"!":
        return {"code": document.get("code") or 500, "body": document}
    if call.kind == EXTERNAL:
        return {"code": 200, "body": document["answer"]}
    if call.verb == "list":
        parsed = parse_kind(call.kind)
        document = {"kind": f"{parsed.kind}List", "apiVersion": parsed.api_version, "metadata": {}, **document}
        for item in document["items"]:
            item.update(apiVersion=parsed.api_version, kind=parsed.kind)
    return {"code": _CREATED if call.verb == "create" else 200, "body": document}
