"""Patches as controllers make them: the difference between an object and a copy of it taken before it was changed.

``merge_from(base)`` is controller-runtime's ``client.MergeFrom(base)``: a JSON merge patch with what changed since
``base``, lists replaced whole. With ``lock=True`` it carries the resourceVersion of ``base`` as well
(``MergeFromWithOptimisticLock``), so that it is refused when another writer came in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kontend.cluster.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object as Object
from kontend.kube.patches.merge_patch import merge_patch_diff


@dataclass(frozen=True, slots=True)
class Patch:
    """Computes the patch of an object: a difference from a base, or given bytes.

    Make one with :func:`merge_from`, :func:`merge_patch`, :func:`json_patch` or :func:`raw`.

    >>> Patch("application/merge-patch+json", base={"spec": {"size": 1}}).data({"spec": {"size": 2}})
    b'{"spec":{"size":2}}'
    """

    content_type: str
    #: The object before it was changed, for patches that are a difference.
    base: Mapping[str, Any] | None = None
    #: True adds the base's resourceVersion. None leaves that to the manager's guard ``locked_status``.
    lock: bool | None = None
    #: The patch itself, for those that are given.
    given: bytes = b""

    def data(self, obj: Mapping[str, Any], *, lock_by_default: bool = False) -> bytes:
        """Return the bytes to send for ``obj``."""
        if self.base is None:
            return self.given
        if self.base is obj:
            raise WrongObject(
                "merge_from: the base is the object itself, so nothing differs; copy it before the change: "
                "base = copy.deepcopy(obj)"
            )
        diff = merge_patch_diff(self.base, obj)
        if self.lock or (self.lock is None and lock_by_default):
            version = (self.base.get("metadata") or {}).get("resourceVersion")
            if not version:
                raise WrongObject(
                    "merge_from: cannot use optimistic lock, the base has no resourceVersion; "
                    "take the base from an object that was read"
                )
            diff.setdefault("metadata", {})["resourceVersion"] = version
        return canonical(diff)

    def replaces_list(self, obj: Mapping[str, Any]) -> bool:
        """Return True for a difference from a version that changes a list, which a merge patch replaces whole."""
        if self.base is None or not (self.base.get("metadata") or {}).get("resourceVersion"):
            return False
        return _changes_list(self.base, obj)


def _changes_list(base: Any, obj: Any) -> bool:
    if isinstance(base, Mapping) and isinstance(obj, Mapping):
        return any(_changes_list(base.get(key), obj.get(key)) for key in {*base, *obj})
    return base != obj and (isinstance(base, list) or isinstance(obj, list))


def merge_from(base: Mapping[str, Any], *, lock: bool | None = None) -> Patch:
    """Return a merge patch of what changed since ``base``, a copy taken before the changes.

    >>> base = {"metadata": {"name": "w", "resourceVersion": "7"}, "status": {"phase": "Pending"}}
    >>> changed = {"metadata": {"name": "w", "resourceVersion": "7"}, "status": {"phase": "Ready"}}
    >>> merge_from(base).data(changed)
    b'{"status":{"phase":"Ready"}}'
    >>> merge_from(base, lock=True).data(changed)
    b'{"metadata":{"resourceVersion":"7"},"status":{"phase":"Ready"}}'
    """
    if not isinstance(base, Mapping):
        raise WrongObject(f"merge_from: the base must be an object that was read, found {base!r}")
    return Patch(MERGE_PATCH, base=base, lock=lock)


def json_patch(operations: Sequence[Mapping[str, Any]]) -> Patch:
    """Return a JSON patch (RFC 6902).

    >>> json_patch([{"op": "remove", "path": "/metadata/labels/old"}]).data({})
    b'[{"op":"remove","path":"/metadata/labels/old"}]'
    """
    if not isinstance(operations, list | tuple) or not all(isinstance(each, Mapping) for each in operations):
        raise WrongObject(
            "json_patch: expected a list of operations such as {'op': 'remove', 'path': '/spec/size'}, "
            f"found {operations!r}"
        )
    return Patch(JSON_PATCH, given=canonical(list(operations)))


def merge_patch(patch: Mapping[str, Any]) -> Patch:
    """Return a merge patch (RFC 7396) with this content; null removes a field, lists are replaced.

    >>> merge_patch({"spec": {"size": 3, "color": None}}).data({})
    b'{"spec":{"color":null,"size":3}}'
    """
    if not isinstance(patch, Mapping):
        raise WrongObject(f"merge_patch: expected the fields to change, such as {{'spec': {{...}}}}, found {patch!r}")
    return Patch(MERGE_PATCH, given=canonical(patch))


def strategic_merge_patch(patch: Mapping[str, Any]) -> Patch:
    """Return a strategic merge patch, for built-in kinds."""
    return Patch(STRATEGIC_MERGE_PATCH, given=canonical(patch))


def as_patch(patch: object) -> Patch:
    """Return a patch as it is, an object as a merge patch, and a list of operations as a JSON patch.

    >>> as_patch({"spec": {"size": 3}}) == merge_patch({"spec": {"size": 3}})
    True
    >>> as_patch("size=3")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kontend.kube.errors.WrongObject: expected a patch: merge_from(base), a dict for a merge patch, ... found 'size=3'
    """
    if isinstance(patch, Patch):
        return patch
    if isinstance(patch, Mapping):
        return merge_patch(patch)
    if isinstance(patch, list) and all(isinstance(operation, Mapping) for operation in patch):
        return json_patch(patch)
    raise WrongObject(
        "expected a patch: merge_from(base), a dict for a merge patch, or a list of operations for a JSON patch; "
        f"found {patch!r}"
    )


def raw(content_type: str, data: bytes) -> Patch:
    """Return a patch with these bytes and this content type (``client.RawPatch``).

    >>> raw("application/merge-patch+json", b'{"spec":{"size":3}}').data({})
    b'{"spec":{"size":3}}'
    """
    if not isinstance(content_type, str) or not isinstance(data, bytes):
        raise WrongObject(f"raw: expected a content type and bytes, found {content_type!r} and {data!r}")
    return Patch(content_type, given=data)
