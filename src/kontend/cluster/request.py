"""Requests and their routing.

An :class:`ApiRequest` is the request on the wire. :func:`route` turns its path and method into a :class:`Target`: which
resource, which object, which verb. What follows (create, update, patch, delete, list, watch) works on targets only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from kontend.cluster.effects import Answers
from kontend.cluster.options import WriteOptions
from kontend.cluster.request_text import PLAIN, RequestText
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.users import ADMIN, User
from kontend.kube.errors import BadRequest, MethodNotAllowed, NotFound, method_not_allowed, not_found
from kontend.kube.meta.names import Key

JSON: Final = "application/json"
YAML: Final = "application/yaml"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

#: A body larger than this is refused.
BODY_LIMIT: Final = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request as a client sent it."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    user_agent: str = ""
    user: User = ADMIN
    #: The shell has asked what the user may do. Like kube-apiserver, it asks once, when the request arrives: a request
    #: that waits for a webhook or another write is carried out although a role was taken away meanwhile.
    authorized: bool = False

    def first(self, name: str) -> str:
        """Return the first value of a query parameter, or nothing."""
        values = self.query.get(name)
        return values[0] if values else ""


_NO_OPTIONS: Final = WriteOptions()


class PageNotFound(Exception):
    """A path that is not served at all: the answer is text, not a Status."""


@dataclass(slots=True)
class Target:
    """The resource, object and verb of a request."""

    registry: Registry
    resource: Resource
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    options: WriteOptions = _NO_OPTIONS
    user: User = ADMIN
    #: The source of webhooks' answers; without any, neither webhooks nor policies see the request.
    answers: Answers | None = None
    warnings: list[str] = field(default_factory=list)
    #: Traits of the body that the decoded object has lost.
    text: RequestText = PLAIN

    @property
    def key(self) -> Key:
        """The namespace and name of the object."""
        return Key(self.namespace, self.name)

    def warn(self, text: str) -> None:
        """Add a Warning header to the response; the same one only once."""
        if text not in self.warnings:
            self.warnings.append(text)


def route(registry: Registry, request: ApiRequest) -> Target:
    """Return the target of a resource request. Raises :class:`PageNotFound` or an :class:`ApiError`."""
    place = _place(request.path)
    if place is None:
        raise PageNotFound
    group, version, namespace, plural, name, subresource, always_watch = place
    watching = bool(request.query) and request.first("watch").lower() not in ("", "0", "false")
    resource = registry.at(group, version, plural)
    if resource is None or (namespace and not resource.namespaced):
        raise _nothing_there(registry, group)
    if resource.namespaced and not namespace and (name or request.method in ("POST", "DELETE")):
        if not name and resource.custom is None:
            raise not_allowed()
        raise _nothing_there(registry, group)
    verb = "watch" if always_watch else _verb(request.method, bool(name), watching)
    target = Target(registry, resource, verb, namespace, name, subresource, user=request.user)
    _check_served(target)
    return target


def split_path(path: str) -> tuple[str, str, list[str]] | None:
    """Return group, version and the parts after them of a path, or None where it names no resource.

    >>> split_path("/apis/apps/v1/deployments")
    ('apps', 'v1', ['deployments'])
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[0] == "apis" and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    return None


@lru_cache(maxsize=4096)
def _place(path: str) -> tuple[str, str, str, str, str, str, bool] | None:
    """Return group, version, namespace, plural, name and subresource of a path, and whether it is for watches only.

    A path with an empty part has the plural of no resource.
    """
    parts = split_path(path)
    if parts is None:
        return None
    group, version, rest = parts
    if "%" in path:
        rest = [unquote(part) for part in rest]
    always_watch = rest[0] == "watch" and len(rest) > 1  # the deprecated form, the only one that watches a single name
    if always_watch:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural = "" if "" in rest else rest[0]
    return group, version, namespace, plural, rest[1] if len(rest) > 1 else "", "/".join(rest[2:]), always_watch


_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")


def _nothing_there(registry: Registry, group: str) -> Exception:
    """Return a Status for built-in groups, and a plain 404 page elsewhere."""
    if registry.is_builtin_group(group):
        return NotFound("the server could not find the requested resource", details={})
    return PageNotFound()


def _check_served(target: Target) -> None:
    resource, subresource, verb = target.resource, target.subresource, target.verb
    custom = resource.custom is not None
    if custom and not target.name and verb in ("update", "patch"):
        raise BadRequest("name must be provided")
    if not subresource:
        if target.name and resource.verbs == ("create",):
            raise NotFound("the server could not find the requested resource", details={})
        allowed = verb in resource.verbs and (target.name or verb not in ("update", "patch"))
        # Built-in kinds are created at the collection only; custom ones do not look at the name in the path.
        if not allowed or (verb == "create" and target.name and not custom):
            raise method_not_allowed(resource.group, resource.plural, verb) if custom else not_allowed()
        return
    info = resource.subresources.get(subresource)
    if info is None:
        if custom:
            raise not_found(resource.group, resource.plural, target.name)
        raise NotFound("the server could not find the requested resource", details={})
    if verb not in info.verbs:
        raise method_not_allowed(resource.group, resource.plural, verb) if custom else not_allowed()


_WRITING: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def _verb(method: str, named: bool, watching: bool) -> str:
    if method in ("GET", "HEAD"):
        if named:
            return "get"
        return "watch" if watching else "list"
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    return _WRITING.get(method, "")


def not_allowed() -> MethodNotAllowed:
    """The path is served, but not for this method."""
    return MethodNotAllowed("the server does not allow this method on the requested resource", details={})
