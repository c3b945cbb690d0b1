"""One request of a controller, as data.

A reconcile is a conversation: it makes calls and gets answers. A call says all there is to know about the request
before it is made, so that whoever drives the reconcile (an event loop, a test, an explorer) can carry it out, delay it,
order it or look up what was answered to the same call before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from kontend.kube.meta.names import Key, parse_kind


@dataclass(frozen=True, slots=True)
class Call:
    """A read or a write. Equal calls are interchangeable."""

    #: get, list, create, update, patch, delete or deletecollection
    verb: str
    #: such as ``Widget.example.com/v1``
    kind: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: The body of a write, as canonical JSON.
    body: bytes = b""
    content_type: str = "application/json"
    query: tuple[tuple[str, str], ...] = ()
    #: A read of the controller's cache; other calls go to the server.
    cached: bool = False
    #: For cached reads: the cache must have seen this resourceVersion of the kind (the caller's own last write).
    at_least: int = 0

    @property
    def key(self) -> Key:
        """Which object."""
        return Key(self.namespace, self.name)

    @property
    def writes(self) -> bool:
        """Whether this may change something."""
        return self.verb not in ("get", "list")

    def __str__(self) -> str:
        where = f"{self.kind} {self.key}" if self.name else f"{self.kind} in {self.namespace or 'all namespaces'}"
        path = f"{where}/{self.subresource}" if self.subresource else where
        return f"{'cached ' if self.cached else ''}{self.verb} {path}"


METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def path_of(call: Call, plural: str, *, namespaced: bool) -> str:
    """Where a call goes.

    >>> path_of(Call("update", "Deployment.apps/v1", "default", "web", "status"), "deployments", namespaced=True)
    '/apis/apps/v1/namespaces/default/deployments/web/status'
    >>> path_of(Call("list", "Node/v1", "default"), "nodes", namespaced=False)
    '/api/v1/nodes'
    """
    kind = parse_kind(call.kind)
    path = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    if call.namespace and namespaced:
        path += f"/namespaces/{quote(call.namespace, safe='')}"
    path += f"/{plural}"
    if call.name:
        path += f"/{quote(call.name, safe='')}"
    return f"{path}/{call.subresource}" if call.subresource else path


class Backend(Protocol):
    """Whatever carries out calls: a cluster in this process, a server over HTTP, an explorer."""

    async def call(self, call: Call) -> Any:
        """The JSON that answers a call (a list object for ``list``); raises :class:`~kontend.kube.errors.ApiError`."""

    def is_namespaced(self, kind: str) -> bool:
        """Whether objects of a kind live in namespaces."""

    def now(self) -> str:
        """The time, in RFC 3339."""

    def uuid(self) -> str:
        """A fresh uuid."""
