"""Finalizers, added and removed without touching those of others.

``metadata.finalizers`` is one list that many write. A merge patch replaces it whole, so the patch is locked: from a
stale snapshot it is refused, where an unlocked one would take away what somebody else had added
(``foregroundDeletion``, say).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.snapshot import WrongObject
from kontend.runtime.writes.spec import mutate_spec


def has_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Whether an object waits for this finalizer before it goes.

    >>> has_finalizer({"metadata": {"finalizers": ["example.com/data"]}}, "example.com/data")
    True
    """
    metadata = obj.get("metadata")
    return isinstance(metadata, Mapping) and finalizer in (metadata.get("finalizers") or ())


async def add_finalizer(api: Api, target: Object | StatusScope, finalizer: str) -> bool:
    """Add a finalizer to an object that was read; nothing is sent when it is there. Returns whether it was sent."""
    _check("add_finalizer", finalizer)

    def add(obj: Object) -> None:
        if not has_finalizer(obj, finalizer):
            obj["metadata"]["finalizers"] = [*(obj["metadata"].get("finalizers") or ()), finalizer]

    return await mutate_spec(api, target, add)


async def remove_finalizer(api: Api, target: Object | StatusScope, finalizer: str) -> bool:
    """Remove a finalizer from an object that was read; nothing is sent when it is not there. Returns whether it was."""
    _check("remove_finalizer", finalizer)

    def remove(obj: Object) -> None:
        if has_finalizer(obj, finalizer):
            rest = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
            obj["metadata"]["finalizers"] = rest or None

    return await mutate_spec(api, target, remove)


def _check(caller: str, finalizer: Any) -> None:
    if not isinstance(finalizer, str) or not finalizer:
        raise WrongObject(f"{caller}: expected a finalizer, such as 'example.com/data', found {finalizer!r}")
