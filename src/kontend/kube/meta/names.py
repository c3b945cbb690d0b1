"""Names of kinds, resources and objects, and the paths that serve them.

Users name a kind ``Widget.example.com/v1`` (``Pod/v1`` for the core group); requests name a resource by group, version
and plural; an object is a namespace and a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote

_KIND_FORM: Final = "expected Kind.group/version, such as 'Deployment.apps/v1' or 'Pod/v1'"


class BadName(ValueError):
    """A name that does not say what it should."""


class GroupVersionKind(NamedTuple):
    """A kind at a version: ``Deployment.apps/v1``."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of objects of this kind."""
        return api_version(self.group, self.version)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}/{self.version}" if self.group else f"{self.kind}/{self.version}"


class Key(NamedTuple):
    """The identity of an object within its kind: its namespace (empty for cluster-scoped kinds) and its name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def api_version(group: str, version: str) -> str:
    """``apps/v1``, or just ``v1`` for the core group."""
    return f"{group}/{version}" if group else version


def split_api_version(text: str) -> tuple[str, str]:
    """Group and version of an ``apiVersion``.

    >>> split_api_version("apps/v1"), split_api_version("v1")
    (('apps', 'v1'), ('', 'v1'))
    """
    group, _, version = text.rpartition("/")
    return group, version


def parse_kind(text: str) -> GroupVersionKind:
    """Return the kind that ``text`` names.

    >>> parse_kind("Widget.example.com/v1")
    GroupVersionKind(group='example.com', version='v1', kind='Widget')
    >>> str(parse_kind("Pod/v1"))
    'Pod/v1'
    """
    if not isinstance(text, str):
        raise BadName(f"{text!r} does not name a kind: {_KIND_FORM}")
    head, slash, version = text.rpartition("/")
    kind, _, group = head.partition(".")
    if not slash or not kind or not version or "/" in head:
        raise BadName(f"{text!r} does not name a kind: {_KIND_FORM}")
    return GroupVersionKind(group, version, kind)


def kind_of(obj: Mapping[str, Any]) -> GroupVersionKind:
    """Return the kind that an object says it is."""
    group, version = split_api_version(str(obj.get("apiVersion") or ""))
    return GroupVersionKind(group, version, str(obj.get("kind") or ""))


def key_of(obj: Mapping[str, Any]) -> Key:
    """Return the namespace and name of an object."""
    metadata = obj.get("metadata") or {}
    return Key(metadata.get("namespace") or "", metadata.get("name") or "")


def version_path(group: str, version: str) -> str:
    """Return the path that serves a version of an API group.

    >>> version_path("apps", "v1"), version_path("", "v1")
    ('/apis/apps/v1', '/api/v1')
    """
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def resource_path(
    group: str, version: str, plural: str, *, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """Return the path that serves a resource, or one object of it.

    >>> resource_path("apps", "v1", "deployments", namespace="default", name="web", subresource="status")
    '/apis/apps/v1/namespaces/default/deployments/web/status'
    """
    path = version_path(group, version)
    if namespace:
        path += f"/namespaces/{_quoted(namespace)}"
    path += f"/{plural}"
    if name:
        path += f"/{_quoted(name)}"
    return f"{path}/{subresource}" if subresource else path


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return quote(text, safe="")
