"""One request of a controller, as data.

A reconcile makes calls and gets responses. A call is the whole request before it is sent, so that the driver of the
reconcile (an event loop, a test, an explorer) can carry it out, delay it, reorder it or look up the response to an
equal call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from kontend.kube.errors import Timeout, WrongObject
from kontend.kube.meta.names import Key, parse_kind, resource_path

#: As new as the server is now, for :attr:`Call.at_least`.
CURRENT: Final = -1
#: Between a kind and a representation, in the name of a view.
_AS: Final = " as "


class AnswerLost(Timeout):
    """The request was sent but the response was lost: it may or may not have been carried out."""


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
    #: For cached reads: the cache must have seen this resourceVersion of the kind (the caller's own last write), or
    #: ``CURRENT`` after a write whose response was lost.
    at_least: int = 0
    #: For cached reads: the representation of the objects, where a cache has a view for each; see :attr:`view`.
    form: str = ""

    @property
    def key(self) -> Key:
        """The namespace and the name of the object."""
        return Key(self.namespace, self.name)

    @property
    def view(self) -> str:
        """The view that answers a cached read: that of its kind, or of one representation of it.

        >>> Call("get", "ConfigMap/v1").view, Call("get", "ConfigMap/v1", form="metadata").view
        ('ConfigMap/v1', 'ConfigMap/v1 as metadata')
        """
        return f"{self.kind}{_AS}{self.form}" if self.form else self.kind

    @property
    def writes(self) -> bool:
        """True for calls that may change something."""
        return self.verb not in ("get", "list")

    def __str__(self) -> str:
        if self.name:
            target = f"{self.kind} {self.key}"
        elif self.verb == "create" and not self.namespace:  # of a cluster-scoped object
            target = self.kind
        else:
            target = f"{self.kind} in {self.namespace or 'all namespaces'}"
        path = f"{target}/{self.subresource}" if self.subresource else target
        path += f"{_AS}{self.form}" if self.form else ""
        return f"{'cached ' if self.cached else ''}{self.verb} {path}"


def kind_of_view(view: str) -> str:
    """Return the kind of a view.

    >>> kind_of_view("ConfigMap/v1 as metadata")
    'ConfigMap/v1'
    """
    return view.partition(_AS)[0]


METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def check_namespace(call: Call, *, namespaced: bool) -> None:
    """Raise :class:`WrongObject` for a read of a namespaced object that names no namespace: it never finds one."""
    if namespaced and call.verb == "get" and not call.namespace:
        raise WrongObject(f"{call.kind} is namespaced: expected the request or 'namespace/name', found {call.name!r}")


def path_of(call: Call, plural: str, *, namespaced: bool) -> str:
    """Return the path of the request that carries out a call.

    >>> path_of(Call("update", "Deployment.apps/v1", "default", "web", "status"), "deployments", namespaced=True)
    '/apis/apps/v1/namespaces/default/deployments/web/status'
    >>> path_of(Call("list", "Node/v1", "default"), "nodes", namespaced=False)
    '/api/v1/nodes'
    """
    kind = parse_kind(call.kind)
    return resource_path(
        kind.group,
        kind.version,
        plural,
        namespace=call.namespace if namespaced else "",
        name=call.name,
        subresource=call.subresource,
    )


class Backend(Protocol):
    """Carries out calls: a cluster in this process, a server over HTTP, an explorer."""

    async def call(self, call: Call) -> Any:
        """Return the response to a call as JSON (a list object for ``list``), or raise an ``ApiError``."""

    def is_namespaced(self, kind: str) -> bool:
        """Return True for a namespaced kind."""

    def now(self) -> str:
        """Return the time, in RFC 3339."""

    def uuid(self) -> str:
        """Return a fresh uuid."""
