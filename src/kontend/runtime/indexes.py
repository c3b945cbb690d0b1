"""Indexes of a cache: functions from an object to the values under which it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kontend.kube.json_types import Object

#: Function from an object to the values under which an index finds it.
Indexer = Callable[[Object], Iterable[str]]

#: The index that every kind has: the uids of an object's owners.
OWNER: Final = "owner"


def owner_uids(obj: Object) -> Iterator[str]:
    """Yield the uids of an object's owners: the values of the index ``owner``.

    >>> list(owner_uids({"metadata": {"ownerReferences": [{"uid": "u1"}, {"uid": "u2"}]}}))
    ['u1', 'u2']
    """
    for owner in (obj.get("metadata") or {}).get("ownerReferences") or ():
        yield owner.get("uid") or ""
