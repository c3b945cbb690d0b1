"""Finalizers of an object in hand, as in controller-runtime's ``controllerutil``: nothing is sent.

``metadata.finalizers`` is one list that many write, and a merge patch replaces it whole. Send the change with
:func:`~kontend.runtime.writes.spec.mutate_object`, which locks the patch: from a stale snapshot it is refused, where an
unlocked one would remove a finalizer that another controller had added (``foregroundDeletion``, say).

    await mutate_object(api, widget, lambda obj: add_finalizer(obj, "example.com/data"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.named import shown
from kontend.runtime.writes.snapshot import metadata_of


def has_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Return True if an object has this finalizer.

    >>> has_finalizer({"metadata": {"finalizers": ["example.com/data"]}}, "example.com/data")
    True
    """
    if not isinstance(obj, Mapping):
        raise WrongObject(f"has_finalizer: expected an object and a finalizer, found {shown(obj)}")
    metadata = obj.get("metadata")
    return isinstance(metadata, Mapping) and finalizer in (metadata.get("finalizers") or ())


def add_finalizer(obj: Object, finalizer: str) -> bool:
    """Add a finalizer to an object in memory. Returns False if it was there.

    >>> widget = {"metadata": {"name": "w"}}
    >>> add_finalizer(widget, "example.com/data"), add_finalizer(widget, "example.com/data")
    (True, False)
    >>> widget["metadata"]["finalizers"]
    ['example.com/data']
    """
    _check("add_finalizer", finalizer)
    metadata = metadata_of(obj, "add_finalizer")
    if has_finalizer(obj, finalizer):
        return False
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
    return True


def remove_finalizer(obj: Object, finalizer: str) -> bool:
    """Remove a finalizer from an object in memory. Returns False if it was not there.

    >>> widget = {"metadata": {"name": "w", "finalizers": ["example.com/data", "other.com/f"]}}
    >>> remove_finalizer(widget, "example.com/data"), remove_finalizer(widget, "example.com/data")
    (True, False)
    >>> widget["metadata"]["finalizers"]
    ['other.com/f']
    """
    _check("remove_finalizer", finalizer)
    metadata = metadata_of(obj, "remove_finalizer")
    if not has_finalizer(obj, finalizer):
        return False
    rest = [other for other in metadata["finalizers"] if other != finalizer]
    if rest:
        metadata["finalizers"] = rest
    else:
        del metadata["finalizers"]
    return True


def _check(caller: str, finalizer: Any) -> None:
    if not isinstance(finalizer, str) or not finalizer:
        raise WrongObject(f"{caller}: expected a finalizer, such as 'example.com/data', found {finalizer!r}")
