"""A Kubernetes API server in your process.

:class:`Cluster` holds one current :class:`~kontend.cluster.state.State` and sends every call through
:func:`~kontend.cluster.handle.handle`, so it answers exactly what ``kontend serve`` would answer over HTTP. What the
server refuses is raised as an :class:`~kontend.kube.errors.ApiError` with the server's own message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from kontend.cluster.effects import Function
from kontend.cluster.effects.conversion import Conversions
from kontend.cluster.handle import handle
from kontend.cluster.hooks import Hook, Hooks
from kontend.cluster.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiRequest
from kontend.cluster.resources import Resource
from kontend.cluster.startup.seed import empty_state, resource_of, seed_all
from kontend.cluster.state import State
from kontend.cluster.storage import read_back
from kontend.cluster.times import rfc3339
from kontend.cluster.users import ADMIN
from kontend.cluster.verbs.watch import Event
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import BadRequest, from_status, not_found
from kontend.kube.json_types import Object
from kontend.kube.meta.named import Named, as_key, shown
from kontend.kube.meta.names import BadName, GroupVersionKind, Key, kind_of, parse_kind

Objects = list[Object]
Events = list[Event]
Warnings = list[str]

_PATCH_TYPES: Final = {
    "merge": MERGE_PATCH,
    "json": JSON_PATCH,
    "strategic": STRATEGIC_MERGE_PATCH,
    "apply": APPLY_PATCH,
}


class Cluster:
    """An API server that behaves like kube-apiserver 1.35: deterministic, forkable, without I/O.

    >>> cluster = Cluster()
    >>> stale = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    >>> changed = cluster.patch("ConfigMap/v1", "c", {"data": {"a": "2"}})
    >>> cluster.update(stale)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kontend.kube.errors.Conflict: Operation cannot be fulfilled on configmaps "c": the object has been modified; ...
    """

    def __init__(
        self,
        *,
        crds: Iterable[Mapping[str, Any]] = (),
        objects: Iterable[Mapping[str, Any]] = (),
        mutating: Mapping[str, Hook] | None = None,
        validating: Mapping[str, Hook] | None = None,
        manager: str = "kontend",
        state: State | None = None,
        webhooks: Mapping[str, Function] | None = None,
        bootstrap: bool = False,
        rbac: bool = False,
    ) -> None:
        """A cluster with custom resource definitions and objects in it.

        ``objects`` are stored as they are, with status and uid. ``mutating`` and ``validating`` are admission hooks by
        name. ``webhooks`` are functions from an AdmissionReview or ConversionReview to its answer, by the URL under
        which a configuration in the cluster names them (a service is ``https://NAME.NAMESPACE.svc/PATH``).
        ``manager`` is the field manager of writes that name none. ``state`` starts from a state kept earlier.
        ``bootstrap`` adds the objects that kube-apiserver makes when it starts. ``rbac`` allows :attr:`user` only what
        roles allow.
        """
        self.manager = _text("manager", manager)
        #: The sender of all requests from now on: may be changed.
        self.user = ADMIN
        #: Immutable: keep it, compare it, assign an earlier one to go back to it.
        self.state = empty_state() if state is None else state
        self.state = seed_all(self.state, [*_all("crds", crds), *_all("objects", objects)], manager=self.manager)
        if bootstrap:
            from kontend.cluster.startup.bootstrap import bootstrap as bootstrapped  # few want it

            self.state = bootstrapped(self.state)
        if rbac:
            self.state = self.state.replace(settings=replace(self.state.settings, rbac=True))
        if mutating or validating or webhooks:
            hooks = Hooks(tuple((mutating or {}).items()), tuple((validating or {}).items()), dict(webhooks or {}))
            self.state = self.state.replace(hooks=hooks)
        #: The Warning headers of the last response.
        self.warnings: Warnings = []

    def fork(self) -> Cluster:
        """Another cluster that starts where this one is; neither sees the other's writes."""
        copy = object.__new__(Cluster)
        copy.manager, copy.user, copy.state, copy.warnings = self.manager, self.user, self.state, []
        return copy

    @property
    def resource_version(self) -> str:
        """The version of the last write."""
        return str(self.state.resource_version)

    @property
    def now(self) -> str:
        """The cluster's time. It stands still unless you :meth:`advance` it."""
        return rfc3339(self.state.now)

    def advance(self, seconds: int) -> None:
        """Lets time pass."""
        if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0:
            raise BadRequest(f"advance: expected a whole number of seconds, not negative, found {seconds!r}")
        self.state = self.state.replace(now=self.state.now + seconds)

    # Reading

    def get(self, kind: str, name: Named, *, namespace: str = "default", subresource: str = "") -> Object:
        """One object. Raises :class:`~kontend.kube.errors.NotFound`.

        ``name`` may have the namespace: ``"default/web"``, ``("default", "web")``, a request, or an object.
        """
        resource = self._resource(kind)
        key = _placed(resource, namespace, name)
        if subresource:
            answer: Object = self._send("GET", resource, key.namespace, key.name, subresource=subresource).body
            return answer
        version = self.state.find(resource.key, key)
        if version is None:
            raise not_found(resource.group, resource.plural, key.name)
        if not self.state.registry.converts_by_webhook:
            return read_back(resource, version)
        with Conversions({}, self.state.hooks.webhooks, wait=False).active():
            return read_back(resource, version)

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] = "",
        fields: str = "",
        resource_version: str = "",
    ) -> Objects:
        """All objects of a kind, of one namespace or all, that the selectors match; sorted by namespace and name."""
        resource = self._resource(kind)
        query = {
            "labelSelector": _selector(labels),
            "fieldSelector": _text("fields", fields),
            "resourceVersion": resource_version,
            "resourceVersionMatch": "Exact" if resource_version else "",
        }
        items: Objects = self._send("GET", resource, namespace or "", query=query).body["items"]
        for item in items:
            item["apiVersion"], item["kind"] = resource.api_version, resource.kind
        return items

    def watch(
        self,
        kind: str,
        *,
        since: str = "",
        namespace: str | None = None,
        labels: str | Mapping[str, str] = "",
        fields: str = "",
    ) -> Events:
        """Return the events after version ``since`` up to now, oldest first: ``{"type": ..., "object": ...}``."""
        query = {
            "watch": "1",
            "resourceVersion": _text("since", since),
            "labelSelector": _selector(labels),
            "fieldSelector": _text("fields", fields),
        }
        events: Events = self._send("GET", self._resource(kind), namespace or "", query=query).body
        return events

    # Writing

    def create(
        self, obj: Mapping[str, Any], *, manager: str = "", dry_run: bool = False, field_validation: str = ""
    ) -> Object:
        """Create an object; without a namespace, in ``default``. Returns it as stored."""
        resource, namespace, _ = self._address(obj)
        query = _write_query(manager, dry_run, field_validation)
        answer: Object = self._send("POST", resource, namespace, body=canonical(obj), query=query).body
        return answer

    def update(
        self,
        obj: Mapping[str, Any],
        *,
        subresource: str = "",
        manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> Object:
        """Replace an object; with ``subresource="status"`` only its status. Its resourceVersion is the lock."""
        resource, namespace, name = self._address(obj)
        query = _write_query(manager, dry_run, field_validation)
        body = canonical(obj)
        answer: Object = self._send(
            "PUT", resource, namespace, name, subresource=subresource, body=body, query=query
        ).body
        return answer

    def update_status(self, obj: Mapping[str, Any], *, manager: str = "") -> Object:
        """Replace the status of an object."""
        return self.update(obj, subresource="status", manager=manager)

    def patch(
        self,
        kind: str,
        name: Named,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: str = "",
        namespace: str = "default",
        subresource: str = "",
        manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> Object:
        """Patches an object: a merge patch when ``patch`` is an object, a JSON patch when it is a list, or ``type``."""
        if not isinstance(patch, Mapping) and not _is_operations(patch):
            raise BadRequest(
                "patch: expected a dict for a merge patch, or a list of operations such as {'op': 'remove', 'path': "
                f"'/data/a'}} for a JSON patch, found {patch!r}"
            )
        chosen = type or ("merge" if isinstance(patch, Mapping) else "json")
        if chosen not in _PATCH_TYPES or chosen == "apply":
            raise BadRequest(
                f"type: expected 'merge', 'json' or 'strategic', found {type!r}; for an apply call apply()"
            )
        query = _write_query(manager, dry_run, field_validation)
        resource = self._resource(kind)
        answer: Object = self._send(
            "PATCH",
            resource,
            *_placed(resource, namespace, name),
            subresource=subresource,
            body=canonical(patch),
            query=query,
            content_type=_PATCH_TYPES[chosen],
        ).body
        return answer

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: the object then has what ``obj`` says, and ``manager`` owns it."""
        resource, namespace, name = self._address(obj)
        query = _write_query(manager or self.manager, dry_run, "")
        if force:
            query["force"] = "true"
        answer: Object = self._send(
            "PATCH",
            resource,
            namespace,
            name,
            subresource=subresource,
            body=canonical(obj),
            query=query,
            content_type=APPLY_PATCH,
        ).body
        return answer

    def delete(
        self,
        kind: str,
        name: Named,
        *,
        namespace: str = "default",
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Delete an object, if its uid and resourceVersion are the given ones. Returns what the server answers."""
        resource = self._resource(kind)
        options = _delete_body(uid, resource_version, propagation, grace_period, dry_run)
        answer: Object = self._send("DELETE", resource, *_placed(resource, namespace, name), body=options).body
        return answer

    def delete_all_of(
        self,
        kind: str,
        *,
        namespace: str = "default",
        labels: str | Mapping[str, str] = "",
        fields: str = "",
        propagation: str | None = None,
    ) -> Objects:
        """Delete all objects that the selectors match. Returns them."""
        query = {"labelSelector": _selector(labels), "fieldSelector": fields}
        body = _delete_body(None, None, propagation, None, False)
        items: Objects = self._send("DELETE", self._resource(kind), namespace, query=query, body=body).body["items"]
        return items

    # Everything else

    def request(self, request: ApiRequest) -> ApiResponse:
        """Send any request; return the response as it would go over the wire."""
        self.state, response = handle(self.state, request)
        self.warnings = response.warnings
        return response

    def _send(
        self,
        method: str,
        resource: Resource,
        namespace: str,
        name: str = "",
        *,
        subresource: str = "",
        body: bytes = b"",
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        path = resource.path(namespace, name, subresource)
        values = {key: (value,) for key, value in query.items() if value} if query else {}
        response = self.request(
            ApiRequest(method, path, values, body, content_type=content_type, user_agent=self.manager, user=self.user)
        )
        if response.code >= 400:
            raise from_status(response.body) if isinstance(response.body, dict) else BadRequest(str(response.body))
        return response

    def _resource(self, kind: str) -> Resource:
        if not isinstance(kind, str):
            raise BadRequest(f"kind: expected text such as 'Deployment.apps/v1', found {kind!r}")
        try:
            return resource_of(self.state.registry, _parsed_kind(kind))
        except BadName as error:
            raise BadRequest(f"kind: {error}") from None

    def _address(self, obj: Mapping[str, Any]) -> tuple[Resource, str, str]:
        """Return the path that serves an object."""
        if not isinstance(obj, Mapping):
            raise BadRequest(f"obj: expected an object (a dict with apiVersion, kind and metadata), found {obj!r}")
        kind = kind_of(obj)
        if not kind.kind or not kind.version:
            raise BadRequest("obj: expected apiVersion and kind, found an object without them")
        resource = resource_of(self.state.registry, kind)
        metadata = obj.get("metadata")
        if not isinstance(metadata, Mapping):
            metadata = {}
        namespace = metadata.get("namespace") or "default"
        name = metadata.get("name") or ""
        if not isinstance(namespace, str) or not isinstance(name, str):
            namespace, name = "default", "" if not isinstance(name, str) else name
        return resource, namespace, name


@lru_cache(maxsize=1024)
def _parsed_kind(kind: str) -> GroupVersionKind | str:
    """Return a kind, or the text where it names none: the registry knows what it may mean."""
    try:
        return parse_kind(kind)
    except BadName:
        return kind


def _write_query(manager: str, dry_run: bool, field_validation: str) -> dict[str, str]:
    if not manager and not dry_run and not field_validation:
        return {}
    return {"fieldManager": manager, "dryRun": "All" if dry_run else "", "fieldValidation": field_validation}


def _delete_body(
    uid: str | None, resource_version: str | None, propagation: str | None, grace_period: int | None, dry_run: bool
) -> bytes:
    options: dict[str, Any] = {}
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if uid is not None or resource_version is not None:
        options["preconditions"] = {name: value for name, value in preconditions.items() if value is not None}
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_period is not None:
        options["gracePeriodSeconds"] = grace_period
    if dry_run:
        options["dryRun"] = ["All"]
    return canonical(options) if options else b""


def _selector(labels: str | Mapping[str, str]) -> str:
    if isinstance(labels, str):
        return labels
    if not isinstance(labels, Mapping):
        raise BadRequest(f"labels: expected a selector such as 'app=web' or a dict, found {labels!r}")
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _placed(resource: Resource, namespace: str, name: Named) -> Key:
    """Return the key of an object: ``namespace`` counts where the name has none."""
    key = Key("", name) if isinstance(name, str) and "/" not in name else as_key(name)
    return Key((key.namespace or namespace) if resource.namespaced else "", key.name)


def _is_operations(patch: Any) -> bool:
    return isinstance(patch, list | tuple) and all(isinstance(operation, Mapping) for operation in patch)


def _text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{argument}: expected text, found {value!r}")
    return value


def _all(argument: str, values: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if isinstance(values, Mapping | str | bytes) or not isinstance(values, Iterable):
        raise BadRequest(f"{argument}: expected a list of objects, found {type(values).__name__}")
    listed = list(values)
    for index, value in enumerate(listed):
        if not isinstance(value, Mapping):
            raise BadRequest(f"{argument}[{index}]: expected an object, found {value!r}")
        kind = kind_of(value)
        if not kind.kind or not kind.version:
            raise BadRequest(f"{argument}[{index}]: expected apiVersion and kind, found {shown(value)} without them")
        if argument == "crds" and kind.kind != "CustomResourceDefinition":
            raise BadRequest(f"crds[{index}]: expected a CustomResourceDefinition, found {shown(value)}")
    return listed
