"""Owner references of an object in hand, as in controller-runtime's ``controllerutil``: nothing is sent.

Set them before the object is created, or send the change of an object that was read with
:func:`~kontend.runtime.writes.spec.mutate_object`, which locks the patch:

    await mutate_object(api, child, lambda obj: set_owner_reference(widget, obj))

As there, a reference to an owner of the same group, kind and name is replaced.
:func:`~kontend.kube.meta.accessors.is_controlled_by` compares uids: an owner that was deleted and created again under
its name is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.accessors import controller_of, owner_references
from kontend.kube.meta.named import shown
from kontend.kube.meta.names import kind_of, split_api_version
from kontend.runtime.writes.snapshot import metadata_of


class AlreadyOwned(Exception):
    """The object has another controller, and an object has at most one."""

    def __init__(self, obj: Mapping[str, Any], controller: Mapping[str, Any]) -> None:
        #: The reference to the present controller.
        self.controller = dict(controller)
        name = (obj.get("metadata") or {}).get("name")
        super().__init__(
            f"{kind_of(obj)} {name!r} is already controlled by {controller.get('kind')} {controller.get('name')!r} "
            f"(uid {controller.get('uid')})"
        )


def owner_reference(owner: Mapping[str, Any], *, controller: bool = False) -> dict[str, Any]:
    """Return a reference to ``owner``, an object that was read, for ``metadata.ownerReferences`` of another.

    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u1"}}
    >>> owner_reference(widget)
    {'apiVersion': 'example.com/v1', 'kind': 'Widget', 'name': 'w', 'uid': 'u1'}
    """
    metadata = owner.get("metadata") if isinstance(owner, Mapping) else None
    if not isinstance(metadata, Mapping) or not metadata.get("uid"):
        raise WrongObject(f"owner: expected an object that was read, with a uid, found {shown(owner)}")
    reference = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": metadata.get("name"),
        "uid": metadata["uid"],
    }
    return {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference


def set_controller_reference(owner: Mapping[str, Any], controlled: Object) -> None:
    """Make ``owner`` the controller of ``controlled``, in memory. Raises :class:`AlreadyOwned` if it has another one.

    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u1"}}
    >>> child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    >>> set_controller_reference(widget, child)
    >>> controller_of(child)["name"]
    'w'
    """
    reference = owner_reference(owner, controller=True)
    metadata_of(controlled, "set_controller_reference")
    existing = controller_of(controlled)
    if existing is not None and not _same_owner(existing, reference):
        raise AlreadyOwned(controlled, existing)
    _upsert(owner, reference, controlled)


def set_owner_reference(owner: Mapping[str, Any], obj: Object) -> None:
    """Make ``owner`` one of the owners of ``obj``, in memory. A reference to it that is there is replaced.

    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u1"}}
    >>> child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    >>> set_owner_reference(widget, child)
    >>> child["metadata"]["ownerReferences"]
    [{'apiVersion': 'example.com/v1', 'kind': 'Widget', 'name': 'w', 'uid': 'u1'}]
    """
    reference = owner_reference(owner)
    metadata_of(obj, "set_owner_reference")
    _upsert(owner, reference, obj)


def remove_owner_reference(owner: Mapping[str, Any], obj: Object) -> None:
    """Remove the reference to ``owner`` from ``obj``, in memory. Raises :class:`WrongObject` if there is none.

    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u1"}}
    >>> child = {"metadata": {"name": "c", "ownerReferences": [owner_reference(widget)]}}
    >>> remove_owner_reference(widget, child)
    >>> child
    {'metadata': {'name': 'c'}}
    """
    reference = owner_reference(owner)
    metadata = metadata_of(obj, "remove_owner_reference")
    references = owner_references(obj)
    rest = [other for other in references if not _same_owner(other, reference)]
    if len(rest) == len(references):
        name = f"{reference['kind']} {reference['name']!r}"
        raise WrongObject(f"remove_owner_reference: the object has no reference to {name}")
    if rest:
        metadata["ownerReferences"] = rest
    else:
        del metadata["ownerReferences"]


def _upsert(owner: Mapping[str, Any], reference: dict[str, Any], obj: Object) -> None:
    _check_namespaces(obj, owner)
    references = owner_references(obj)
    index = next((at for at, other in enumerate(references) if _same_owner(other, reference)), None)
    if index is None:
        references.append(reference)
    else:
        references[index] = reference
    obj["metadata"]["ownerReferences"] = references


def _same_owner(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Compare group, kind and name, as controller-runtime does."""
    return _identity(one) == _identity(other)


def _identity(reference: Mapping[str, Any]) -> tuple[str, Any, Any]:
    group, _ = split_api_version(str(reference.get("apiVersion") or ""))
    return group, reference.get("kind"), reference.get("name")


def _check_namespaces(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> None:
    # A namespaced owner can own only in its namespace: the garbage collector would look for it beside the object, not
    # find it, and delete the object.
    theirs = (owner.get("metadata") or {}).get("namespace")
    ours = (obj.get("metadata") or {}).get("namespace")
    if theirs and theirs != ours:
        where = f"namespace {ours!r}" if ours else "no namespace"
        raise WrongObject(f"owner: it is in namespace {theirs!r} and cannot own an object in {where}")
