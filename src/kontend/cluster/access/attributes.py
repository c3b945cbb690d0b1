"""The attributes that authorization decides on, read from the path and method of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kontend.cluster.users import User

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Attributes:
    """One action of one user: a verb on a resource, or on a path that is no resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: Of a request that is not about a resource.
    path: str = ""

    @property
    def full_resource(self) -> str:
        """The resource with its subresource, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(user: User, method: str, path: str, query: Mapping[str, tuple[str, ...]]) -> Attributes:
    """Return the attributes of a request.

    >>> attributes_of(User("ann"), "GET", "/api/v1/namespaces/a/pods", {}).verb
    'list'
    >>> attributes_of(User("ann"), "GET", "/version", {}).path
    '/version'
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Attributes(user, method.lower(), path=path)
    verb = _VERBS.get(method, "")
    if rest[0] in ("watch", "proxy") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        watching = query.get("watch", ("",))[0].lower() not in ("", "0", "false")
        verb = "watch" if watching else "list"
    if not name and verb == "delete":
        verb = "deletecollection"
    if not name and verb in ("list", "watch", "deletecollection"):
        name = _selected_name(query.get("fieldSelector", ("",))[0])
    return Attributes(user, verb, group, version, rest[0], subresource, namespace, name)


def _selected_name(selector: str) -> str:
    """Return the name that a field selector asks for."""
    for term in selector.split(","):
        field, equals, value = term.partition("=")
        if equals and field == "metadata.name":
            return value.removeprefix("=")
    return ""
