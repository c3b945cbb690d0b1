"""What a reconcile talks to: controller-runtime's client, with dicts for objects.

``get`` and ``list`` read the cache, ``live`` reads the server. Writes decode the server's answer back into the object
that was passed, so that it then has the new resourceVersion and whatever others changed. What the server refuses is
raised unchanged as an :class:`~kontend.kube.errors.ApiError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.cluster.request import APPLY_PATCH
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import BadRequest, not_found
from kontend.kube.meta.names import Key, key_of, kind_of, parse_kind
from kontend.runtime.client.call import Backend, Call
from kontend.runtime.client.patches import Object, Patch
from kontend.runtime.guards import Guards, OwnWrites


class Reader:
    """Reads, from the cache or from the server."""

    def __init__(self, backend: Backend, writes: OwnWrites, guards: Guards, *, cached: bool) -> None:
        self._backend = backend
        self._writes = writes
        self._guards = guards
        self._cached = cached

    async def get(self, kind: str, key: Key | str, *, subresource: str = "") -> Object:
        """One object; ``key`` is a request, a :class:`Key` or ``namespace/name``. Raises ``NotFound``."""
        where = as_key(key)
        if not self._backend.is_namespaced(kind):
            where = Key("", where.name)
        at_least = self._writes.of(kind, where) if self._waits else 0
        obj: Object = await self._backend.call(
            Call("get", kind, *where, subresource=subresource, cached=self._cached, at_least=at_least)
        )
        if self._waits and self._writes.is_deleted(obj):
            named = parse_kind(kind)
            raise not_found(named.group, named.kind.lower(), where.name)
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
        """All objects of a kind that the selectors match; ``index=(name, value)`` uses an index of the cache."""
        query = [("labelSelector", _selector(labels)), ("fieldSelector", fields)]
        if index is not None:
            if not self._cached:
                raise BadRequest("list: index is for cached reads; use fields with live reads")
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
        answer = await self._backend.call(call)
        items: list[Object] = answer["items"]
        if self._waits:
            items = [item for item in items if not self._writes.is_deleted(item)]
        named = parse_kind(kind)
        for item in items:  # lists of built-in kinds leave these out
            item["apiVersion"], item["kind"] = named.api_version, named.kind
        return items

    @property
    def _waits(self) -> bool:
        return self._cached and self._guards.read_your_writes


class StatusWriter:
    """Writes through the ``status`` subresource."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def update(self, obj: Object) -> None:
        """Replace the status; the object's resourceVersion is the lock."""
        await self._api._write("update", obj, subresource="status", body=canonical(obj))

    async def patch(self, obj: Object, patch: Patch) -> None:
        """Patch the status. With the guard on, a difference is locked unless it says ``lock=False``."""
        data = patch.data(obj, lock_by_default=self._api.guards.locked_status)
        await self._api._write("patch", obj, subresource="status", body=data, content_type=patch.content_type)

    async def apply(self, obj: Object, *, force: bool = True, manager: str = "") -> None:
        """Server-side apply of the status."""
        await self._api._apply(obj, subresource="status", force=force, manager=manager)


class Api(Reader):
    """Reads from the cache and writes to the server, for one controller."""

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
        self.live = Reader(backend, own, self.guards, cached=False)
        #: Writes of the status subresource.
        self.status = StatusWriter(self)

    def now(self) -> str:
        """The time; use this and not the clock, so that a reconcile can be replayed."""
        return self._backend.now()

    def uuid(self) -> str:
        """A fresh uuid; use this and not ``uuid.uuid4``, so that a reconcile can be replayed."""
        return self._backend.uuid()

    def is_namespaced(self, kind: str) -> bool:
        """Whether objects of a kind live in namespaces. Raises ``NotFound`` for a kind that is not served."""
        return self._backend.is_namespaced(kind)

    def acting_as(self, manager: str) -> Api:
        """The same api, whose writes are those of another field manager."""
        return Api(self._backend, manager=manager, guards=self.guards, writes=self._writes)

    async def create(self, obj: Object) -> None:
        """Create an object."""
        await self._write("create", obj, body=canonical(obj))

    async def create_subresource(self, obj: Object, subresource: str, body: Object) -> None:
        """Post ``body`` to a subresource of an object, such as a ``Binding`` to ``binding``; ``obj`` is not changed."""
        kind, key = self._address(obj)
        query = (("fieldManager", self.manager),)
        await self._backend.call(Call("create", kind, *key, subresource=subresource, body=canonical(body), query=query))

    async def update(self, obj: Object, *, subresource: str = "") -> None:
        """Replace an object, or what a subresource writes of it; its resourceVersion is the lock."""
        await self._write("update", obj, subresource=subresource, body=canonical(obj))

    async def patch(self, obj: Object, patch: Patch) -> None:
        """Patch an object."""
        await self._write("patch", obj, body=patch.data(obj), content_type=patch.content_type)

    async def apply(self, obj: Object, *, force: bool = True, manager: str = "") -> None:
        """Server-side apply: afterwards the object has what ``obj`` said, and this manager owns that."""
        await self._apply(obj, force=force, manager=manager)

    async def delete(
        self,
        obj: Object,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        grace_period: int | None = None,
    ) -> None:
        """Delete an object. With the guard on, only the very version that was read (``uid`` and version of ``obj``)."""
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
        kind, key = self._address(obj)
        answer = await self._backend.call(Call("delete", kind, *key, body=canonical(options) if options else b""))
        self._record_delete(kind, answer)

    def _record_delete(self, kind: str, answer: Object) -> None:
        """Remember what a delete did: the object is gone, or it waits for its finalizers or for its grace period."""
        metadata = answer.get("metadata") or {}
        if (answer.get("apiVersion"), answer.get("kind")) == ("v1", "Status"):
            self._writes.record_delete(kind, (answer.get("details") or {}).get("uid") or "")
        elif _is_gone(metadata):
            self._writes.record_delete(kind, metadata.get("uid") or "")
        else:
            self._writes.record(kind, key_of(answer), int(metadata.get("resourceVersion") or 0))

    async def delete_all_of(
        self, kind: str, *, namespace: str, labels: str | Mapping[str, str] = "", propagation: str | None = None
    ) -> None:
        """Delete all objects of a kind in a namespace that the selector matches."""
        options = canonical({"propagationPolicy": propagation}) if propagation is not None else b""
        selector = _selector(labels)
        query = (("labelSelector", selector),) if selector else ()
        await self._backend.call(Call("deletecollection", kind, namespace, query=query, body=options))

    async def scale(self, obj: Object, replicas: int) -> None:
        """Set the replicas of an object through its ``scale`` subresource; ``obj`` is not changed."""
        kind, key = self._address(obj)
        body = canonical({"spec": {"replicas": replicas}})
        answer = await self._backend.call(
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
        version = (answer.get("metadata") or {}).get("resourceVersion")  # a Scale has the version of its object
        self._writes.record(kind, key, int(version or 0))

    async def _apply(self, obj: Object, *, force: bool, manager: str, subresource: str = "") -> None:
        query = [("fieldManager", manager or self.manager)]
        if force:
            query.append(("force", "true"))
        await self._write(
            "patch", obj, subresource=subresource, body=canonical(obj), content_type=APPLY_PATCH, query=tuple(query)
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
    ) -> None:
        """Send a write and decode the answer into ``obj``."""
        kind, key = self._address(obj)
        name = "" if verb == "create" else key.name
        query = (("fieldManager", self.manager),) if query is None else query
        answer = await self._backend.call(Call(verb, kind, key.namespace, name, subresource, body, content_type, query))
        obj.clear()
        obj.update(answer)
        metadata = answer.get("metadata") or {}
        self._writes.record(kind, key_of(answer), int(metadata.get("resourceVersion") or 0))
        if metadata.get("deletionTimestamp") and _is_gone(metadata):  # its last finalizer was taken away
            self._writes.record_delete(kind, metadata.get("uid") or "")

    def _address(self, obj: Object) -> tuple[str, Key]:
        """The kind and the key of an object; without a namespace, ``default``."""
        if not isinstance(obj, dict):
            raise BadRequest(f"expected an object (a dict with apiVersion, kind and metadata), found {obj!r}")
        kind, key = kind_of(obj), key_of(obj)
        if not kind.kind or not kind.version:
            raise BadRequest("the object has no apiVersion or kind; objects that were read have both")
        name = str(kind)
        if not self._backend.is_namespaced(name):
            return name, Key("", key.name)
        return name, Key(key.namespace or "default", key.name)


def as_key(key: Key | str) -> Key:
    """A key from a key, a request or ``namespace/name``."""
    if isinstance(key, str):
        namespace, _, name = key.rpartition("/")
        return Key(namespace, name)
    return Key(key.namespace, key.name)


def _is_gone(metadata: Mapping[str, Any]) -> bool:
    """Whether an object that was deleted is gone, and does not wait for finalizers or for its grace period."""
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


def _selector(labels: str | Mapping[str, str]) -> str:
    if isinstance(labels, str):
        return labels
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
