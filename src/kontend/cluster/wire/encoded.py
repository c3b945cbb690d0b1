"""Stored objects as the JSON of answers, encoded once for all clients that read them.

A list of a shell is a head and items that are encoded as they are sent (:class:`EncodedList`); the first events of a
watch carry their objects the same way. The bytes of an object are shared between all answers that contain it, and
remembered as long as there is room.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.cluster.storage import read_back
from kontend.cluster.verbs.read import Listing, list_item
from kontend.cluster.wire.present import Form, present

#: Bytes of encoded objects that are remembered.
REMEMBERED: Final = 128 << 20
#: Objects and bytes from which a list is long.
_LONG: Final = 200
_LONG_BYTES: Final = 256 * 1024
#: Bytes of an object from which on no client gets a copy of its own.
_LARGE: Final = 64 * 1024
#: Objects that are brought into another form at a time.
_BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class EncodedList:
    """A list to be sent piece by piece: everything but the items, the name of their field, and the items as JSON."""

    head: dict[str, Any]
    field: str
    items: Iterator[bytes]


class EncodedObject(NamedTuple):
    """The object of an event, as JSON that is shared by all clients."""

    json: bytes


class _Memory:
    """Encoded objects. The oldest are forgotten first: whatever is read again is encoded again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Version, Resource, bool], bytes] = {}
        self._size = 0
        self._lock = threading.Lock()

    def item(self, version: Version, resource: Resource) -> bytes:
        """Return an object as an item of a list."""
        known = self._kept.get((version, resource, False))
        if known is not None:
            return known
        data = to_json(list_item(resource, read_back(resource, version)))
        return self._keep(version, resource, False, data)

    def whole(self, version: Version, resource: Resource, head: bytes) -> bytes:
        """Return an object with the fields that items of lists lack; remembered if it is large."""
        known = self._kept.get((version, resource, True))
        if known is not None:
            return known
        data = head + self.item(version, resource)[1:]
        return data if len(data) < _LARGE else self._keep(version, resource, True, data)

    def _keep(self, version: Version, resource: Resource, whole: bool, data: bytes) -> bytes:
        with self._lock:
            if (version, resource, whole) not in self._kept:
                self._kept[version, resource, whole] = data
                self._size += len(data)
            while self._size > REMEMBERED:
                self._size -= len(self._kept.pop(next(iter(self._kept))))
        return data


_memory: Final = _Memory()


def to_json(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a number that does not fit into 64 bits
        return json.dumps(value, separators=(",", ":")).encode()


def item_json(resource: Resource, version: Version) -> bytes:
    """Return a stored object as an item of a list."""
    if resource.custom is not None and resource.custom.converts_by_webhook:
        return to_json(read_back(resource, version))  # made of answers that may change
    return _memory.item(version, resource)


def object_json(resource: Resource, version: Version) -> bytes:
    """Return a stored object as it is served on its own."""
    if resource.custom is not None:
        return item_json(resource, version)
    head = b'{"kind":"%b","apiVersion":"%b",' % (resource.kind.encode(), resource.api_version.encode())
    return _memory.whole(version, resource, head)


def encoded_object(resource: Resource, version: Version) -> EncodedObject:
    """Return the same as the object of an event."""
    return EncodedObject(object_json(resource, version))


def is_long(found: Listing, form: Form) -> bool:
    """Report whether a list should be sent piece by piece."""
    if found.read is not None or not found.versions:
        return False
    if form.shape == "Table" and found.resource.kind == "FlowSchema":
        return False  # its rows have an order of their own
    return len(found.versions) > _LONG or sum(len(version.body) for version in found.versions) > _LONG_BYTES


def encoded_list(state: State, target: Target, form: Form, include_object: str, found: Listing) -> EncodedList:
    """Return a list in the form that a client asked for, whose items are encoded as they are read."""
    resource, versions = found.resource, found.versions
    if not form.shape:
        return EncodedList(found.head(), "items", (item_json(resource, it) for it in versions))

    def shown(part: Sequence[Version]) -> dict[str, Any]:
        items = [list_item(resource, read_back(resource, version)) for version in part]
        answer: dict[str, Any] = present(state, target, include_object, form, {**found.head(), "items": items})
        return answer

    field = "rows" if form.shape == "Table" else "items"
    first = shown(versions[:_BATCH])
    later = (shown(versions[at : at + _BATCH])[field] for at in range(_BATCH, len(versions), _BATCH))
    head = {name: value for name, value in first.items() if name != field}
    return EncodedList(head, field, _pieces(first[field], later))


def _pieces(first: list[Any], later: Iterable[list[Any]]) -> Iterator[bytes]:
    for item in first:
        yield to_json(item)
    for part in later:
        for item in part:
            yield to_json(item)
