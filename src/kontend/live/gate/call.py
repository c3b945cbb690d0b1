"""Calls of a process, described so that the same call is recognised in another run.

Two runs of one controller differ in resourceVersions, uids and generated names, and in the order of independent calls.
So a call is described by its verb, resource, object and subresource, and a point in a run by a call and its number
among the equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.request import ApiRequest, PageNotFound, route
from kontend.cluster.resources import Registry
from kontend.cluster.state import State
from kontend.cluster.subresources.connections import CONNECTIONS
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key
from kontend.live.gate.election import HOLDERS, elects, is_election
from kontend.serve.protobuf.requests import as_json

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
#: Resources by which processes coordinate or report, which say nothing about the work of a controller.
LEASES: Final = "leases.coordination.k8s.io"
UNJUDGED: Final = frozenset({LEASES, "events", "events.events.k8s.io"})


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """One kind of request: a verb and the object that it is about.

    >>> str(Call("update", "widgets.example.com", "default", "w", "status"))
    'update widgets.example.com default/w status'
    """

    verb: str
    resource: str
    namespace: str = ""
    #: With ``*`` at its end, a generated name.
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        path = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.verb, self.resource, path, self.subresource) if part)

    @property
    def writes(self) -> bool:
        """Return whether it may change something that counts."""
        return self.verb in WRITES and self.resource not in UNJUDGED

    @property
    def connects(self) -> bool:
        """Return whether it connects to a pod, a service or a node: nothing answers there by itself.

        >>> Call("get", "pods", "default", "p", "log").connects, Call("get", "pods", "default", "p", "status").connects
        (True, False)
        """
        return self.subresource.partition("/")[0] in CONNECTIONS

    def to_json(self) -> dict[str, str]:
        """Return it as JSON, without empty fields."""
        fields = ("verb", "resource", "namespace", "name", "subresource")
        return {name: getattr(self, name) for name in fields if getattr(self, name)}


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A point in a run: the ``nth`` time that a call is made (or, for a write, that it changes something).

    >>> str(Point(Call("create", "configmaps", "default", "c")))
    'create configmaps default/c'
    """

    call: Call
    nth: int = 1

    def __str__(self) -> str:
        return str(self.call) if self.nth == 1 else f"{self.call} (number {self.nth})"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self.call.to_json() | ({"nth": self.nth} if self.nth != 1 else {})


def describe(state: State, request: ApiRequest, generated: dict[str, str]) -> Call | None:
    """Return the call of a request; None for requests that are not about a resource (discovery, health).

    ``generated`` has the generated names of this run and what stands for them.
    """
    registry = state.registry
    try:
        target = route(registry, request)
    except (PageNotFound, ApiError):
        return None
    name = generated.get(target.name, target.name)
    if target.verb == "create" and not name:
        name = _name_in(registry, request)
        name = generated.get(name, name)
    resource = target.resource.key
    if resource in HOLDERS and (
        elects(state, resource, Key(target.namespace, name))
        or (target.verb in ("create", "update") and is_election(_body(registry, request)))
    ):
        resource = LEASES
    return Call(target.verb, resource, target.namespace, name, target.subresource)


def is_locked(registry: Registry, request: ApiRequest) -> bool:
    """Return whether a write names the version that it changes, so that the server may answer with a conflict."""
    body = _body(registry, request)
    metadata = body.get("metadata")
    preconditions = body.get("preconditions")
    return bool(isinstance(metadata, dict) and metadata.get("resourceVersion")) or bool(preconditions)


def _name_in(registry: Registry, request: ApiRequest) -> str:
    """Return the name of an object to be created."""
    metadata = _body(registry, request).get("metadata")
    if not isinstance(metadata, dict):
        return ""
    return str(metadata.get("name") or f"{metadata.get('generateName', '')}*")


def _body(registry: Registry, request: ApiRequest) -> dict[str, Any]:
    """Return the object in a request; empty if it is none, or cannot be read."""
    try:
        body = orjson.loads(as_json(registry, request).body)
    except (ApiError, orjson.JSONDecodeError):
        return {}
    return body if isinstance(body, dict) else {}
