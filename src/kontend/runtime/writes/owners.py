"""Owner references: who an object belongs to.

References are told apart by uid, never by name: an owner that was deleted and made again under its name is another one.
Adding and removing is a locked patch, so the references of others are never lost to a stale snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.meta.names import kind_of
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.snapshot import WrongObject
from kontend.runtime.writes.spec import mutate_spec


class AlreadyOwned(Exception):
    """The object has another controller, and there can be only one."""

    def __init__(self, obj: Mapping[str, Any], controller: Mapping[str, Any]) -> None:
        #: The reference to the controller that the object has.
        self.controller = dict(controller)
        name = (obj.get("metadata") or {}).get("name")
        super().__init__(
            f"{kind_of(obj)} {name!r} is already controlled by {controller.get('kind')} {controller.get('name')!r} "
            f"(uid {controller.get('uid')})"
        )


def owner_reference(owner: Mapping[str, Any], *, controller: bool = False) -> dict[str, Any]:
    """A reference to ``owner``, an object that was read, for ``metadata.ownerReferences`` of another.

    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u1"}}
    >>> owner_reference(widget)
    {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'name': 'w', 'uid': 'u1'}
    """
    metadata = owner.get("metadata") if isinstance(owner, Mapping) else None
    if not isinstance(metadata, Mapping) or not metadata.get("uid"):
        raise WrongObject(f"owner: expected an object that was read, with a uid, found {owner!r}")
    reference = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": metadata.get("name"),
        "uid": metadata["uid"],
    }
    return {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference


def owner_references(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The owner references of an object."""
    metadata = obj.get("metadata")
    return list((metadata.get("ownerReferences") or ()) if isinstance(metadata, Mapping) else ())


def controller_of(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reference to the controller of an object, if it has one."""
    return next((each for each in owner_references(obj) if each.get("controller")), None)


def is_controlled_by(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Whether ``owner`` itself, not just one of its name, controls the object."""
    controller = controller_of(obj)
    uid = (owner.get("metadata") or {}).get("uid")
    return controller is not None and bool(uid) and controller.get("uid") == uid


async def set_controller_reference(api: Api, target: Object | StatusScope, owner: Mapping[str, Any]) -> bool:
    """Make ``owner`` the controller of an object that was read. Raises :class:`AlreadyOwned` if there is another."""
    return await _set(api, target, owner, controller=True)


async def set_owner_reference(api: Api, target: Object | StatusScope, owner: Mapping[str, Any]) -> bool:
    """Make ``owner`` one of the owners of an object that was read; if it controls the object it still does."""
    return await _set(api, target, owner, controller=False)


async def remove_owner_reference(api: Api, target: Object | StatusScope, owner: Mapping[str, Any]) -> bool:
    """Take the reference to ``owner`` away from an object that was read. Returns whether anything was sent."""
    uid = owner_reference(owner)["uid"]

    def remove(obj: Object) -> None:
        references = owner_references(obj)
        rest = [each for each in references if each.get("uid") != uid]
        if len(rest) != len(references):
            obj["metadata"]["ownerReferences"] = rest or None

    return await mutate_spec(api, target, remove)


def with_owner(obj: Mapping[str, Any], owner: Mapping[str, Any], *, controller: bool) -> list[dict[str, Any]]:
    """The owner references of ``obj`` with one to ``owner``; those of others stay as they are."""
    reference = owner_reference(owner, controller=controller)
    _check_namespaces(obj, owner)
    other = controller_of(obj)
    if controller and other is not None and other.get("uid") != reference["uid"]:
        raise AlreadyOwned(obj, other)
    references = owner_references(obj)
    for index, each in enumerate(references):
        if each.get("uid") == reference["uid"]:
            references[index] = {**each, **reference}
            return references
    return [*references, reference]


async def _set(api: Api, target: Object | StatusScope, owner: Mapping[str, Any], *, controller: bool) -> bool:
    owner_reference(owner)

    def add(obj: Object) -> None:
        obj["metadata"]["ownerReferences"] = with_owner(obj, owner, controller=controller)

    return await mutate_spec(api, target, add)


def _check_namespaces(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> None:
    # A namespaced owner can own only in its namespace: the garbage collector would look for it beside the object, not
    # find it, and delete the object.
    theirs = (owner.get("metadata") or {}).get("namespace")
    ours = (obj.get("metadata") or {}).get("namespace")
    if theirs and theirs != ours:
        where = f"namespace {ours!r}" if ours else "no namespace"
        raise WrongObject(f"owner: it is in namespace {theirs!r} and cannot own an object in {where}")
