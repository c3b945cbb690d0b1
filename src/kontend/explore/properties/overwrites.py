"""Overwritten fields: three versions of an object, compared field by field.

The versions are the one that the writer had *read*, the one that it replaced (*old*), and the one that it left
(*new*). A field is overwritten when ``old`` differs from both: another client changed it since the read, and the
writer changed it again. A field that only one of them changed is not lost, also when it is next to the other's in the
same map.

A list is compared element by element where its elements have names: by the first merge key that tells them all apart,
or by their own value where they are scalars (finalizers, say). The order of such a list does not count. Any other
list counts as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

#: A value that is absent, and one that was never read: the second differs from everything.
_ABSENT: Final = object()
_UNREAD: Final = object()
#: Fields that every write changes.
_IGNORED: Final = (("metadata", "generation"),)
#: The keys by which Kubernetes merges lists; ``uid`` first, because owners of different kinds can share a name.
_MERGE_KEYS: Final = (
    "uid",
    "type",
    "name",
    "key",
    "ip",
    "containerPort",
    "port",
    "mountPath",
    "devicePath",
    "topologyKey",
)
_PLAIN: Final = re.compile(r"\w[\w-]*")


class Element(NamedTuple):
    """An element of a list: its merge key and that key's value, or (with an empty key) its own value."""

    key: str
    value: str | int | float | bool

    def __str__(self) -> str:
        return f"{self.key}={self.value}" if self.key else orjson.dumps(self.value).decode()


#: The way to a field: names, and elements of lists.
Path = tuple[str | Element, ...]


def path_text(path: Path) -> str:
    """Formats a path.

    >>> path_text(("status", "conditions", Element("type", "Ready"), "status"))
    '.status.conditions[type=Ready].status'
    >>> path_text(("metadata", "labels", "example.com/a")), path_text(("metadata", "finalizers", Element("", "a/b")))
    ('.metadata.labels["example.com/a"]', '.metadata.finalizers["a/b"]')
    """
    parts = []
    for step in path:
        if isinstance(step, Element):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if _PLAIN.fullmatch(step) else f'["{step}"]')
    return "".join(parts)


class Overwrite(NamedTuple):
    """A field that was changed again."""

    path: Path
    #: True for an element of a list, added since the read, that is gone now.
    vanished: bool = False
    #: True if it had been removed since the read, and was put back.
    removed: bool = False
    #: The value that is lost.
    lost: Any = None


def overwritten(read: Any, old: Any, new: Any) -> Iterator[Overwrite]:
    """The fields that differ from what was read to what was there, and from that to what was written.

    >>> list(overwritten({}, {"status": {"a": 1}}, {"status": {"a": 1, "b": 2}}))
    []
    >>> [path_text(each.path) for each in overwritten({}, {"status": {"a": 1}}, {"status": {"a": 2}})]
    ['.status.a']
    """
    return _overwritten(read, old, new, ())


def changed(old: Any, new: Any) -> Iterator[Path]:
    """The fields that differ between two versions.

    >>> [path_text(path) for path in changed({"spec": {"size": 1}}, {"spec": {"size": 2}, "status": {"n": 1}})]
    ['.spec.size', '.status']
    """
    return (overwrite.path for overwrite in _overwritten(_UNREAD, old, new, ()))


def _overwritten(read: Any, old: Any, new: Any, path: Path) -> Iterator[Overwrite]:
    if read == old or old == new or path in _IGNORED:
        return
    if old is _ABSENT:
        yield Overwrite(path, removed=True)
        return
    if read is _ABSENT and new is _ABSENT and isinstance(path[-1], Element):
        yield Overwrite(path, vanished=True, lost=old)
        return
    parts = _parts((read, old, new))
    if parts is None:
        yield Overwrite(path, lost=old)
        return
    for step in sorted({*parts[0], *parts[1], *parts[2]}, key=str):
        was, there, left = (part.get(step, _ABSENT) for part in parts)
        yield from _overwritten(_UNREAD if read is _UNREAD else was, there, left, (*path, step))


def _parts(versions: Sequence[Any]) -> list[Mapping[Any, Any]] | None:
    """The parts of maps or lists, by name or element; None for values that can only be compared as a whole."""
    there = [version for version in versions if version is not _ABSENT and version is not _UNREAD]
    if len(there) == 1 and not there[0]:
        return None  # the loss of something empty could not be seen in its parts
    if all(isinstance(value, Mapping) for value in there):
        return [version if isinstance(version, Mapping) else {} for version in versions]
    if all(isinstance(value, list) for value in there):
        key = _merge_key(there)
        if key is not None:
            return [_elements(version, key) if isinstance(version, list) else {} for version in versions]
    return None


def _merge_key(lists: Sequence[list[Any]]) -> str | None:
    """The key that tells the elements of all these lists apart; empty for their own value, None for none."""
    elements = [element for items in lists for element in items]
    if all(_is_scalar(element) for element in elements):
        return "" if all(len(set(items)) == len(items) for items in lists) else None
    if not all(isinstance(element, Mapping) for element in elements):
        return None
    for key in _MERGE_KEYS:
        named = all(_is_scalar(element.get(key)) for element in elements)
        if named and all(len({element[key] for element in items}) == len(items) for items in lists):
            return key
    return None


def _elements(items: list[Any], key: str) -> dict[Element, Any]:
    return {Element(key, item[key] if key else item): item for item in items}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float))
