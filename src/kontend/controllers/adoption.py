"""Adoption and release of objects by the controller whose selector matches them.

An object may have many owners and one controller among them. :func:`claim` adopts an object without a controller and
releases one that no longer matches, with a patch that carries the uid of the object, so that another object of the
same name is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kontend.kube.errors import Invalid, NotFound
from kontend.kube.meta.accessors import controller_of, is_deleting, uid_of
from kontend.kube.meta.names import kind_of
from kontend.kube.meta.selectors import LabelSelector
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, strategic_merge_patch
from kontend.runtime.writes.owners import owner_reference


async def claim(
    api: Api,
    owner: Object,
    objects: Iterable[Object],
    selector: LabelSelector,
    *,
    accepts: Callable[[Object], bool] = lambda _: True,
    finalizer: str = "",
) -> list[Object]:
    """Return the objects that ``owner`` controls and its selector matches, after it adopted and released what it
    should.

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
        fresh = await api.live.get(str(kind_of(owner)), f"{metadata.get('namespace', '')}/{metadata['name']}")
    except NotFound:
        return False
    return uid_of(fresh) == uid_of(owner) and not is_deleting(fresh)


async def _adopt(api: Api, owner: Object, obj: Object, finalizer: str) -> bool:
    metadata: dict[str, Any] = {"uid": uid_of(obj), "ownerReferences": [owner_reference(owner, controller=True)]}
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
