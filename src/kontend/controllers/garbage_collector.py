"""The garbage collector: deletes objects without owners, and completes foreground and orphan deletions.

An event queues the object, the owners that wait for it, and, when the object is gone, everything that named it as an
owner. Each of these is then reconciled by itself, with reads from the server and not from the cache:

- An owner that exists (with the same uid) keeps its dependents. References to owners that do not are
  removed when another owner is left; when none is left, the object is deleted.
- An owner that is deleted *foreground* waits for the dependents that say ``blockOwnerDeletion``: they go first.
- An owner that is deleted *orphan* takes itself out of its dependents before it goes.

A delete carries the uid and the version of the object whose owners were read: when it got a new owner
meanwhile, the server refuses the delete and the object is reconciled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from kontend.controllers.built_in import EveryKind, OfEveryKind
from kontend.kube.errors import Conflict, NotFound, UnsupportedMediaType
from kontend.kube.meta.accessors import finalizers_of, is_deleting, owner_references, uid_of
from kontend.kube.meta.names import GroupVersionKind, Key, key_of, kind_of, split_api_version
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, merge_patch, strategic_merge_patch
from kontend.runtime.controller import Mapper, Request, Result
from kontend.runtime.indexes import OWNER
from kontend.runtime.predicates import Event, Predicate, Where

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
#: Seconds until a reference to a kind that is not served is looked at again: it may be defined by then.
_UNKNOWN_KIND: Final = 30.0


class Identity(NamedTuple):
    """The identity of an object of any kind, with its uid."""

    kind: str
    key: Key
    uid: str

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Identity:
        """Return the identity of an object."""
        return cls(str(kind_of(obj)), key_of(obj), uid_of(obj))

    @classmethod
    def referred(cls, reference: Mapping[str, Any], namespace: str) -> Identity:
        """Return the identity of an owner of an object in a namespace, if it lives in namespaces."""
        group, version = split_api_version(str(reference.get("apiVersion") or ""))
        kind = str(GroupVersionKind(group, version, str(reference.get("kind") or "")))
        return cls(kind, Key(namespace, str(reference.get("name") or "")), str(reference.get("uid") or ""))

    def request(self) -> Request:
        """Return a request for it: a request has no field for a kind, so its name holds all of the identity.

        >>> Identity("Pod/v1", Key("default", "web"), "7").request()
        Request(namespace='default', name='web Pod/v1 7')
        """
        return Request(self.key.namespace, f"{self.key.name} {self.kind} {self.uid}")

    @classmethod
    def requested(cls, request: Key) -> Identity | None:
        """Return the identity in a request."""
        name, *rest = request.name.split(" ")
        return cls(rest[0], Key(request.namespace, name), rest[1]) if len(rest) == 2 else None


class UnknownOwner(Exception):
    """The kind of an owner is not served, so nothing can be said about the owner."""


class Owners(NamedTuple):
    """The owner references of an object, by the state of the owners."""

    solid: list[dict[str, Any]]
    dangling: list[dict[str, Any]]
    #: Owners that are deleted foreground and wait for this object.
    waiting: list[dict[str, Any]]


def concerned(obj: Object, cache: Cache) -> Iterator[Key]:
    """Return the identities to reconcile after an event of an object."""
    identity = Identity.of(obj)
    yield identity.request()
    for reference in owner_references(obj):
        if reference.get("blockOwnerDeletion"):
            yield Identity.referred(reference, identity.key.namespace).request()
    if not _is_known(cache, identity):
        for view in list(cache.views.values()):
            for dependent in view.list(index=(OWNER, identity.uid)):
                yield Identity.of(dependent).request()


def _is_known(cache: Cache, identity: Identity) -> bool:
    view = cache.views.get(identity.kind)
    return view is not None and identity.key in view and uid_of(view.get(identity.key)) == identity.uid


def matters(event: Event) -> bool:
    """Report whether an event changes anything about owners or deletion."""
    if event.new is None:
        return True
    if event.old is None:
        return bool(owner_references(event.new)) or is_deleting(event.new)
    return _about(event.old) != _about(event.new)


def _about(obj: Mapping[str, Any]) -> tuple[object, ...]:
    return uid_of(obj), owner_references(obj), is_deleting(obj), finalizers_of(obj)


class GarbageCollector(OfEveryKind):
    """Deletes objects whose owners are gone."""

    watches: ClassVar[Mapping[str, Mapper]] = EveryKind(concerned)
    predicates: ClassVar[Mapping[str, Predicate]] = EveryKind(Where(matters))

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Reconciles one object: its own deletion, then its owners."""
        identity = Identity.requested(request)
        if identity is None:
            return None
        try:
            obj = await api.live.get(identity.kind, identity.key)
        except NotFound:
            return None
        if uid_of(obj) != identity.uid:
            return None
        if is_deleting(obj):
            if ORPHAN in finalizers_of(obj):
                await self._orphan_dependents(api, obj)
            elif FOREGROUND in finalizers_of(obj):
                await self._delete_dependents_first(api, obj)
            return None
        if not owner_references(obj):
            return None
        return await self._collect(api, obj)

    async def _collect(self, api: Api, obj: Object) -> Result | None:
        namespace = key_of(obj).namespace
        for reference in owner_references(obj):
            kind = Identity.referred(reference, namespace).kind
            try:
                namespaced = api.is_namespaced(kind)
            except NotFound:
                return Result(requeue_after=_UNKNOWN_KIND)
            if namespaced and not namespace:
                return None  # an owner in a namespace cannot own what is in none, and looking again will not help
        try:
            owners = await self._owners(api, obj, namespace)
        except UnknownOwner:
            return Result(requeue_after=_UNKNOWN_KIND)
        if owners.solid:
            gone = [str(reference["uid"]) for reference in (*owners.dangling, *owners.waiting)]
            if gone:
                await _remove_owners(api, obj, gone)
        elif owners.waiting and (dependents := await self._dependents(api, obj)):
            if any(is_deleting(dependent) and FOREGROUND in finalizers_of(dependent) for dependent in dependents):
                await _unblock_owners(api, obj)  # a cycle: two objects would wait for each other forever
            await _delete(api, obj, "Foreground")
        else:
            finalizers = finalizers_of(obj)
            kept = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
            await _delete(api, obj, kept)
        return None

    async def _owners(self, api: Api, obj: Object, namespace: str) -> Owners:
        owners = Owners([], [], [])
        for reference in owner_references(obj):
            identity = Identity.referred(reference, namespace)
            try:
                owner = await api.live.get(identity.kind, identity.key)
            except NotFound as error:
                if (error.details or {}).get("name") != identity.key.name:  # not the object is missing, but its kind
                    raise UnknownOwner(identity.kind) from None
                owners.dangling.append(reference)
                continue
            if uid_of(owner) != identity.uid:
                owners.dangling.append(reference)
            elif is_deleting(owner) and FOREGROUND in finalizers_of(owner):
                owners.waiting.append(reference)
            else:
                owners.solid.append(reference)
        return owners

    async def _dependents(self, api: Api, owner: Object) -> list[Object]:
        """Return the objects that name an owner, as the caches know them."""
        dependents: list[Object] = []
        for kind in await self.served_kinds(api):
            dependents += await api.list(kind, namespace=key_of(owner).namespace, index=(OWNER, uid_of(owner)))
        return dependents

    async def _delete_dependents_first(self, api: Api, owner: Object) -> None:
        blocking = [child for child in await self._dependents(api, owner) if _blocks(child, owner)]
        if not blocking:
            await _remove_finalizer(api, owner, FOREGROUND)
        for dependent in blocking:
            if not is_deleting(dependent):
                await self.sync(Identity.of(dependent).request(), api)

    async def _orphan_dependents(self, api: Api, owner: Object) -> None:
        for dependent in await self._dependents(api, owner):
            try:
                await _remove_owners(api, dependent, [uid_of(owner)])
            except NotFound:
                continue
        await _remove_finalizer(api, owner, ORPHAN)


def _blocks(dependent: Object, owner: Object) -> bool:
    return any(
        reference.get("uid") == uid_of(owner) and reference.get("blockOwnerDeletion")
        for reference in owner_references(dependent)
    )


async def _delete(api: Api, obj: Object, propagation: str) -> None:
    try:
        await api.delete(
            obj, uid=uid_of(obj), resource_version=obj["metadata"]["resourceVersion"], propagation=propagation
        )
    except NotFound:
        return
    except Conflict:
        # Another client wrote it, perhaps only its status: the delete is repeated if the owners are still the same.
        try:
            fresh = await api.live.get(str(kind_of(obj)), key_of(obj))
        except NotFound:
            return
        if uid_of(fresh) != uid_of(obj) or owner_references(fresh) != owner_references(obj):
            raise
        await api.delete(obj, uid=uid_of(obj), resource_version="", propagation=propagation)


async def _remove_owners(api: Api, obj: Object, uids: Iterable[str]) -> None:
    removed = list(uids)
    left = [reference for reference in owner_references(obj) if reference.get("uid") not in removed]
    patches = [{"$patch": "delete", "uid": uid} for uid in removed]
    await _patch_owners(api, obj, patches, left)


async def _unblock_owners(api: Api, obj: Object) -> None:
    free = [{**reference, "blockOwnerDeletion": False} for reference in owner_references(obj)]
    blocking = [
        reference for reference, old in zip(free, owner_references(obj), strict=True) if old.get("blockOwnerDeletion")
    ]
    await _patch_owners(api, obj, blocking, free)


async def _patch_owners(api: Api, obj: Object, patches: list[dict[str, Any]], whole: list[dict[str, Any]]) -> None:
    """Change owner references one by one, or where the kind does not support that, replaces them under a lock."""
    version = obj["metadata"]["resourceVersion"]
    try:
        await api.patch(obj, strategic_merge_patch({"metadata": {"ownerReferences": patches, "uid": uid_of(obj)}}))
    except UnsupportedMediaType:
        await api.patch(obj, merge_patch({"metadata": {"resourceVersion": version, "ownerReferences": whole or None}}))


async def _remove_finalizer(api: Api, obj: Object, finalizer: str) -> None:
    metadata = obj["metadata"]
    left = [name for name in finalizers_of(obj) if name != finalizer]
    try:
        await api.patch(
            obj,
            merge_patch({"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": left or None}}),
        )
    except NotFound:
        return
