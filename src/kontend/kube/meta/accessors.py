"""Reading of ``metadata``: uid, labels, finalizers, deletion and owners of an object."""

from __future__ import annotations

from kontend.kube.json_types import Json, JsonView


def uid_of(obj: JsonView) -> str:
    """Return the uid of an object."""
    return str((obj.get("metadata") or {}).get("uid") or "")


def labels_of(obj: JsonView) -> dict[str, str]:
    """Return a copy of the labels of an object."""
    return dict((obj.get("metadata") or {}).get("labels") or {})


def finalizers_of(obj: JsonView) -> list[str]:
    """Return a copy of the finalizers of an object."""
    return list((obj.get("metadata") or {}).get("finalizers") or ())


def is_deleting(obj: JsonView) -> bool:
    """Report whether an object is being deleted."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def owner_references(obj: JsonView) -> list[Json]:
    """Return the owner references of an object, in a list of its own."""
    return list((obj.get("metadata") or {}).get("ownerReferences") or ())


def controller_of(obj: JsonView) -> Json | None:
    """Return the reference to the owner that controls an object.

    >>> controller_of({"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2", "controller": True}]}})
    {'uid': '2', 'controller': True}
    """
    return next((reference for reference in owner_references(obj) if reference.get("controller")), None)


def is_controlled_by(obj: JsonView, owner: JsonView) -> bool:
    """Report whether ``owner`` (the same uid, not just the same name) controls an object.

    >>> reference = {"kind": "Widget", "name": "w", "uid": "u1", "controller": True}
    >>> is_controlled_by({"metadata": {"ownerReferences": [reference]}}, {"metadata": {"name": "w", "uid": "u2"}})
    False
    """
    reference, uid = controller_of(obj), uid_of(owner)
    return reference is not None and bool(uid) and reference.get("uid") == uid
