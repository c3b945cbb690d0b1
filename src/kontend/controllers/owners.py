"""Owner references: the controller of an object, and adoption and release.

An object may have many owners and one controller among them. Controllers of pods claim what their selector matches:
:func:`claim` adopts an object that nobody controls and releases one that no longer matches, with a patch that names the
uid of the object, so that a namesake is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kontend.kube.errors import Invalid, NotFound
from kontend.kube.meta.selectors import LabelSelector
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, strategic_merge_patch


def uid_of(obj: Mapping[str, Any]) -> str:
    """The uid of an object."""
    return str((obj.get("metadata") or {}).get("uid") or "")


def owner_references(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The owners of an object."""
    return list((obj.get("metadata") or {}).get("ownerReferences") or ())


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Reports whether an object is being deleted."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def finalizers_of(obj: Mapping[str, Any]) -> list[str]:
    """Returns the finalizers of an object."""
    return list((obj.get("metadata") or {}).get("finalizers") or ())


def controller_of(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reference to the owner that controls an object.

    >>> controller_of({"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2", "controller": True}]}})
    {'uid': '2', 'controller': True}
    """
    return next((reference for reference in owner_references(obj) if reference.get("controller")), None)


def is_controlled_by(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Reports whether ``owner`` (the same uid) controls an object."""
    reference = controller_of(obj)
    return reference is not None and reference.get("uid") == uid_of(owner)


def controller_reference(owner: Mapping[str, Any]) -> dict[str, Any]:
    """A reference by which ``owner`` controls a new object and waits for it when it is deleted foreground."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def claim(
    api: Api,
    owner: Object,
    objects: Iterable[Object],
    selector: LabelSelector,
    *,
    accepts: Callable[[Object], bool] = lambda _: True,
    finalizer: str = "",
) -> list[Object]:
    """The objects that ``owner`` controls and its selector matches, after it adopted and released what it should.

    ``accepts`` says what must be true besides, ``finalizer`` is one that an adopted object gets. Before the first
    adoption the owner is read from the server: a cache may not know yet that it is being deleted.
    """
    claimed = []
    may_adopt: bool | None = None
    for obj in objects:
        matches = selector.matches((obj.get("metadata") or {}).get("labels") or {}) and accepts(obj)
        reference = controller_of(obj)
        if reference is not None:
            if reference.get("uid") != uid_of(owner):
                continue
            if matches:
                claimed.append(obj)
            elif not is_deleting(owner):
                await _release(api, owner, obj)
            continue
        if is_deleting(owner) or is_deleting(obj) or not matches:
            continue
        if may_adopt is None:
            may_adopt = await _may_adopt(api, owner)
        if may_adopt and await _adopt(api, owner, obj, finalizer):
            claimed.append(obj)
    return claimed


async def _may_adopt(api: Api, owner: Object) -> bool:
    metadata = owner["metadata"]
    try:
        fresh = await api.live.get(_kind(owner), f"{metadata.get('namespace', '')}/{metadata['name']}")
    except NotFound:
        return False
    return uid_of(fresh) == uid_of(owner) and not is_deleting(fresh)


async def _adopt(api: Api, owner: Object, obj: Object, finalizer: str) -> bool:
    metadata: dict[str, Any] = {"uid": uid_of(obj), "ownerReferences": [controller_reference(owner)]}
    if finalizer:
        metadata["finalizers"] = [finalizer]
    try:
        await api.patch(obj, strategic_merge_patch({"metadata": metadata}))
    except NotFound:
        return False
    return True


async def _release(api: Api, owner: Object, obj: Object) -> None:
    removed = [{"$patch": "delete", "uid": uid_of(owner)}]
    try:
        await api.patch(obj, strategic_merge_patch({"metadata": {"uid": uid_of(obj), "ownerReferences": removed}}))
    except (NotFound, Invalid):
        # It is gone, or it has no such owner any more: released either way.
        return


def _kind(obj: Mapping[str, Any]) -> str:
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    return f"{obj['kind']}.{group}/{version}" if group else f"{obj['kind']}/{version}"
