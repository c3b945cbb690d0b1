"""The client that a reconcile is given: controller-runtime's client, with dicts for objects.

``get`` and ``list`` read the cache, ``live`` reads the server. Writes decode the server's response into the object that
was passed, so that it then has the new resourceVersion and whatever others changed, and return that object. A request
that the server refuses raises its error unchanged, as an :class:`~kontend.kube.errors.ApiError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from kontend.cluster.request import APPLY_PATCH
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import NotFound, WrongObject, not_found
from kontend.kube.json_types import Object
from kontend.kube.meta.named import Named, as_key
from kontend.kube.meta.names import Key, key_of, kind_of, parse_kind
from kontend.runtime.client.call import CURRENT, AnswerLost, Backend, Call
from kontend.runtime.client.patches import Patch, as_patch
from kontend.runtime.guards import Guards, OwnWrites

#: What ``patch`` takes: a patch, an object for a merge patch, or a list of operations for a JSON patch.
Patched: TypeAlias = Patch | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Reader:
    """Reads of a controller, from its cache or from the server."""

    def __init__(self, backend: Backend, writes: OwnWrites, guards: Guards, *, cached: bool) -> None:
        self._backend = backend
        self._writes = writes
        self._guards = guards
        self._cached = cached

    async def get(self, kind: str, key: Named, *, subresource: str = "") -> Object:
        """Read one object: ``await api.get("Widget.example.com/v1", request)``. Raises ``NotFound``.

        ``key`` is a request, ``"namespace/name"``, ``("namespace", "name")``, or an object with these metadata.
        """
        address = as_key(key)
        if not self._backend.is_namespaced(kind):
            address = Key("", address.name)
        at_least = self._writes.of(kind, address) if self._waits else 0
        obj: Object = await self._read(
            Call("get", kind, *address, subresource=subresource, cached=self._cached, at_least=at_least)
        )
        if self._waits and self._writes.is_deleted(obj):
            parsed = parse_kind(kind)
            raise not_found(parsed.group, parsed.kind.lower(), address.name)
        return obj

    async def list(
        self,
        kind: str,
        *,
        namespace: str = "",
        labels: str | Mapping[str, str] = "",
        fields: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[Object]:
        """Read the objects of a kind that the selectors match: ``await api.list("Pod/v1", labels={"app": "web"})``.

        ``index=(name, value)`` uses an index of the cache.
        """
        query = [("labelSelector", _selector(labels)), ("fieldSelector", fields)]
        if index is not None:
            if not self._cached:
                raise WrongObject("list: index is for cached reads; use fields with live reads")
            query.append(("index", "=".join(index)))
        at_least = self._writes.within(kind, namespace) if self._waits else 0
        call = Call(
            "list",
            kind,
            namespace,
            query=tuple((name, value) for name, value in query if value),
            cached=self._cached,
            at_least=at_least,
        )
        response = await self._read(call)
        items: list[Object] = response["items"]
        if self._waits:
            items = [item for item in items if not self._writes.is_deleted(item)]
        parsed = parse_kind(kind)
        for item in items:  # lists of built-in kinds leave these out
            item["apiVersion"], item["kind"] = parsed.api_version, parsed.kind
        return items

    async def _read(self, call: Call) -> Any:
        """Send a read. After a write whose response was lost it sees at least all that the server has now."""
        lost = self._writes.lost.get(call.kind) if self._waits else None
        if lost is None:
            return await self._backend.call(call)
        try:
            response = await self._backend.call(replace(call, at_least=CURRENT))
        except NotFound:
            self._writes.forget_lost(call.kind, lost)
            raise
        self._writes.forget_lost(call.kind, lost)
        return response

    @property
    def _waits(self) -> bool:
        return self._cached and self._guards.read_your_writes


class StatusWriter:
    """Writes through the ``status`` subresource."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def update(self, obj: Object) -> Object:
        """Replace the status and return the object: ``await api.status.update(widget)``.

        Its resourceVersion is the lock.
        """
        return await self._api._write("update", obj, subresource="status", body=_object_body(obj))

    async def patch(self, obj: Object, patch: Patched) -> Object:
        """Patch the status and return the object: ``await api.status.patch(widget, merge_from(base, lock=True))``.

        A dict is a merge patch, and a list of operations a JSON patch.

        With the guard ``locked_status``, a patch made by ``merge_from`` is locked unless it says ``lock=False``.
        """
        made = as_patch(patch)
        data = made.data(obj, lock_by_default=self._api.guards.locked_status)
        return await self._api._write("patch", obj, subresource="status", body=data, content_type=made.content_type)

    async def apply(self, obj: Object, *, force: bool = True, manager: str = "") -> Object:
        """Apply the status, by server-side apply, and return the object: ``await api.status.apply(widget)``."""
        return await self._api._apply(obj, subresource="status", force=force, manager=manager)


class Api(Reader):
    """The client of one controller: reads from its cache, writes to the server.

    ``create``, ``update``, ``patch``, ``apply`` and those of ``api.status`` decode the response into the object that
    was passed and return it.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Copies(Controller):
    ...     kind = "ConfigMap/v1"
    ...     async def reconcile(self, request, api):
    ...         original = await api.get(self.kind, request)  # from the cache
    ...         metadata = {"name": "copy", "namespace": request.namespace}
    ...         copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": original["data"]}
    ...         copy = await api.apply(copy)
    ...         assert copy == await api.live.get(self.kind, "default/copy")  # from the server
    >>> original = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "value"}}
    >>> cluster = Cluster(objects=[original])
    >>> settle(cluster, Copies())
    2
    >>> cluster.get("ConfigMap/v1", "copy")["data"]
    {'key': 'value'}
    """

    def __init__(
        self,
        backend: Backend,
        *,
        manager: str = "kontend",
        guards: Guards | None = None,
        writes: OwnWrites | None = None,
    ) -> None:
        #: The field manager of this controller's writes.
        self.manager = manager
        self.guards = guards or Guards()
        own = writes if writes is not None else OwnWrites()
        super().__init__(backend, own, self.guards, cached=True)
        #: Reads from the server instead of the cache.
        self.live: Reader = Reader(backend, own, self.guards, cached=False)
        #: Writes of the status subresource.
        self.status: StatusWriter = StatusWriter(self)

    def now(self) -> str:
        """Return the time in RFC 3339. Use this and not the clock, so that a reconcile can be replayed."""
        return self._backend.now()

    def uuid(self) -> str:
        """Return a fresh uuid. Use this and not ``uuid.uuid4``, so that a reconcile can be replayed."""
        return self._backend.uuid()

    def is_namespaced(self, kind: str) -> bool:
        """Return True for a namespaced kind. Raises ``NotFound`` for a kind that is not served."""
        return self._backend.is_namespaced(kind)

    def acting_as(self, manager: str) -> Api:
        """Return the same api with another field manager for its writes."""
        return Api(self._backend, manager=manager, guards=self.guards, writes=self._writes)

    async def create(self, obj: Object) -> Object:
        """Create an object and return it: ``await api.create(child)``."""
        return await self._write("create", obj, body=_object_body(obj))

    async def create_subresource(self, obj: Object, subresource: str, body: Object) -> Object:
        """Post ``body`` to a subresource of ``obj``, such as a ``Binding`` to ``binding``, and return the response.

        ``obj`` is not changed.
        """
        kind, key = self._address(obj)
        query = (("fieldManager", self.manager),)
        call = Call("create", kind, *key, subresource=subresource, body=canonical(body), query=query)
        response: Object = await self._sent(call)
        return response

    async def update(self, obj: Object, *, subresource: str = "") -> Object:
        """Replace an object, or the part that a subresource writes, and return it: ``await api.update(widget)``.

        Its resourceVersion is the lock.
        """
        return await self._write("update", obj, subresource=subresource, body=_object_body(obj))

    async def patch(self, obj: Object, patch: Patched) -> Object:
        """Patch an object and return it: ``await api.patch(widget, merge_from(base))``.

        A dict is a merge patch, and a list of operations a JSON patch.

        With the guard ``locked_status``, a patch made by ``merge_from`` that replaces a list, such as the finalizers,
        is locked too, unless it says ``lock=False``.
        """
        made = as_patch(patch)
        data = made.data(obj, lock_by_default=self.guards.locked_status and made.replaces_list(obj))
        return await self._write("patch", obj, body=data, content_type=made.content_type)

    async def apply(self, obj: Object, *, force: bool = True, manager: str = "") -> Object:
        """Apply an object, by server-side apply, and return it: ``await api.apply(child)``.

        The field manager then owns the fields that it had.
        """
        return await self._apply(obj, force=force, manager=manager)

    async def delete(
        self,
        obj: Object,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        grace_period: int | None = None,
    ) -> None:
        """Delete an object: ``await api.delete(child)``.

        With the guard ``delete_preconditions``, only the version that was read: ``uid`` and ``resource_version`` are
        those of ``obj`` unless given.
        """
        kind, key = self._address(obj)
        metadata = obj.get("metadata") or {}
        if self.guards.delete_preconditions:
            uid = uid if uid is not None else metadata.get("uid")
            resource_version = resource_version if resource_version is not None else metadata.get("resourceVersion")
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options: dict[str, Any] = {}
        if uid or resource_version:
            options["preconditions"] = {name: value for name, value in preconditions.items() if value}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        response = await self._sent(Call("delete", kind, *key, body=canonical(options) if options else b""))
        self._record_delete(kind, response)

    def _record_delete(self, kind: str, response: Object) -> None:
        """Record the effect of a delete: the object is gone, or it waits for its finalizers or for its grace period."""
        metadata = response.get("metadata") or {}
        if (response.get("apiVersion"), response.get("kind")) == ("v1", "Status"):
            self._writes.record_delete(kind, (response.get("details") or {}).get("uid") or "")
        elif _is_gone(metadata):
            self._writes.record_delete(kind, metadata.get("uid") or "")
        else:
            self._writes.record(kind, key_of(response), int(metadata.get("resourceVersion") or 0))

    async def delete_all_of(
        self, kind: str, *, namespace: str, labels: str | Mapping[str, str] = "", propagation: str | None = None
    ) -> None:
        """Delete the objects of a kind in a namespace that the selector matches.

        ``await api.delete_all_of("Pod/v1", namespace="default", labels={"app": "web"})``
        """
        options = canonical({"propagationPolicy": propagation}) if propagation is not None else b""
        selector = _selector(labels)
        query = (("labelSelector", selector),) if selector else ()
        await self._sent(Call("deletecollection", kind, namespace, query=query, body=options))

    async def scale(self, obj: Object, replicas: int) -> None:
        """Set the replicas of an object through its ``scale`` subresource: ``await api.scale(deployment, 3)``.

        ``obj`` is not changed.
        """
        kind, key = self._address(obj)
        body = canonical({"spec": {"replicas": replicas}})
        response = await self._sent(
            Call(
                "patch",
                kind,
                *key,
                subresource="scale",
                body=body,
                content_type="application/merge-patch+json",
                query=(("fieldManager", self.manager),),
            )
        )
        version = (response.get("metadata") or {}).get("resourceVersion")  # a Scale has the version of its object
        self._writes.record(kind, key, int(version or 0))

    async def _apply(self, obj: Object, *, force: bool, manager: str, subresource: str = "") -> Object:
        query = [("fieldManager", manager or self.manager)]
        if force:
            query.append(("force", "true"))
        return await self._write(
            "patch", obj, subresource=subresource, body=_object_body(obj), content_type=APPLY_PATCH, query=tuple(query)
        )

    async def _write(
        self,
        verb: str,
        obj: Object,
        *,
        body: bytes,
        subresource: str = "",
        content_type: str = "application/json",
        query: tuple[tuple[str, str], ...] | None = None,
    ) -> Object:
        """Send a write, decode the response into ``obj`` and return it."""
        kind, key = self._address(obj)
        name = "" if verb == "create" else key.name
        query = (("fieldManager", self.manager),) if query is None else query
        call = Call(verb, kind, key.namespace, name, subresource, body, content_type, query)
        response = await self._sent(call)
        obj.clear()
        obj.update(response)
        self._record_write(kind, response)
        return obj

    async def _sent(self, call: Call) -> Any:
        """Send a write. Its response may be lost: then the reads after it wait for the server's present state."""
        try:
            return await self._backend.call(call)
        except AnswerLost:
            self._writes.record_lost(call.kind)
            raise

    def _record_write(self, kind: str, response: Object) -> None:
        metadata = response.get("metadata") or {}
        self._writes.record(kind, key_of(response), int(metadata.get("resourceVersion") or 0))
        if metadata.get("deletionTimestamp") and _is_gone(metadata):  # its last finalizer was removed
            self._writes.record_delete(kind, metadata.get("uid") or "")

    def _address(self, obj: Object) -> tuple[str, Key]:
        """Return the kind and the key of an object; the namespace is ``default`` unless it has one."""
        if not isinstance(obj, dict):
            raise WrongObject(f"expected an object (a dict with apiVersion, kind and metadata), found {obj!r}")
        kind, key = kind_of(obj), key_of(obj)
        if not kind.kind or not kind.version:
            raise WrongObject("the object has no apiVersion or kind; objects that were read have both")
        name = str(kind)
        if not self._backend.is_namespaced(name):
            return name, Key("", key.name)
        return name, Key(key.namespace or "default", key.name)


def _object_body(obj: Object) -> bytes:
    """Return the JSON of an object as Go clients send it: the server keeps the text of a few fields."""
    text = canonical(obj)
    return text.replace(b"&", b"\\u0026").replace(b"<", b"\\u003c").replace(b">", b"\\u003e")


def _is_gone(metadata: Mapping[str, Any]) -> bool:
    """Return True if an object that was deleted is gone and does not wait for finalizers or for its grace period."""
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


def _selector(labels: str | Mapping[str, str]) -> str:
    if isinstance(labels, str):
        return labels
    if not isinstance(labels, Mapping):
        raise WrongObject(f"labels: expected a selector such as 'app=web' or a dict, found {labels!r}")
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
