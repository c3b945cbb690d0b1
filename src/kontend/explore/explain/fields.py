"""Fields of objects in explanations: names of objects, values by path, changes between two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any, Final

import orjson

from kontend.cluster.state import Version
from kontend.explore.program.identities import FIRST_VERSION, IDENTITIES, VERSIONS
from kontend.explore.properties.overwrites import Element, Path, changed, path_text
from kontend.kube.meta.names import Key, kind_of
from kontend.report.document import FieldChange
from kontend.report.elements import LITTLE, compact, rank

ABSENT: Final = object()
#: Characters of a value that a sentence shows.
_LONGEST: Final = 48
#: Fields that the server sets, and that say nothing about what a writer wanted.
_METADATA: Final = ("creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "uid")
_SERVER: Final = frozenset({(), ("apiVersion",), ("kind",), *(("metadata", name) for name in _METADATA)})


def number_of(resource_version: int) -> int:
    """A resourceVersion as traces show it: counted from the start of the exploration.

    >>> number_of(7_000_000_000_000_003), number_of(3)
    (3, 3)
    """
    return resource_version - FIRST_VERSION if resource_version >= FIRST_VERSION else resource_version


def content_of(version: Version) -> dict[str, Any]:
    """An object as traces show it, without resourceVersion and managedFields. It must not be changed."""
    return _content(version.body)


@lru_cache(maxsize=10_000)
def _content(body: bytes) -> dict[str, Any]:
    obj: dict[str, Any] = orjson.loads(VERSIONS.sub(lambda match: b"%d" % number_of(int(match[0])), body))
    return obj


def object_name(obj: Mapping[str, Any]) -> str:
    """The name of an object in traces.

    >>> object_name({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "a", "name": "b"}})
    'Deployment.apps/v1 a/b'
    """
    metadata = obj.get("metadata") or {}
    return named(str(kind_of(obj)), Key(metadata.get("namespace") or "", metadata.get("name") or ""))


def named(kind: str, key: Key) -> str:
    """The name of an object in traces, by its kind and key."""
    return f"{kind} {key}"


def short_name(name: str) -> str:
    """An object's name without group and version, for sentences.

    >>> short_name("Deployment.apps/v1 a/b")
    'Deployment a/b'
    """
    kind, _, key = name.partition(" ")
    return f"{kind.partition('/')[0].partition('.')[0]} {key}"


def text_of(path: Path) -> str:
    """A path without its leading dot.

    >>> text_of(("data", "next"))
    'data.next'
    """
    return path_text(path).removeprefix(".")


def value_at(obj: Any, path: Path) -> Any:
    """The value of a field, or :data:`ABSENT`.

    >>> value_at({"items": [{"type": "Ready", "status": "True"}]}, ("items", Element("type", "Ready"), "status"))
    'True'
    """
    for step in path:
        if isinstance(step, Element):
            items = obj if isinstance(obj, list) else ()
            obj = next((item for item in items if _is(item, step)), ABSENT)
        else:
            obj = obj.get(step, ABSENT) if isinstance(obj, Mapping) else ABSENT
        if obj is ABSENT:
            return ABSENT
    return obj


def value_of(obj: Any, text: str) -> Any:
    """The value of a field by the text of its path, or :data:`ABSENT`.

    >>> value_of({"items": [{"type": "Ready", "status": "True"}]}, "items[type=Ready].status")
    'True'
    """
    if not text:
        return obj
    if isinstance(obj, Mapping):
        parts = [(path_text((name,)), item) for name, item in obj.items()]
    elif isinstance(obj, list):
        parts = [(f"[{element}]", item) for item in obj for element in _elements(item)]
    else:
        return ABSENT
    path = text if text[0] in ".[" else f".{text}"
    found = (value_of(item, path[len(part) :]) for part, item in parts if _begins(path, part))
    return next((value for value in found if value is not ABSENT), ABSENT)


def _elements(item: Any) -> Iterator[Element]:
    """The names that an item of a list may have."""
    if not isinstance(item, Mapping):
        yield Element("", item)
        return
    for key, value in item.items():
        if isinstance(value, str | int):
            yield Element(key, value)


def _begins(path: str, part: str) -> bool:
    return path.startswith(part) and path[len(part) : len(part) + 1] in ("", ".", "[")


def _is(item: Any, element: Element) -> bool:
    if element.key:
        return isinstance(item, Mapping) and item.get(element.key) == element.value
    return bool(item == element.value)


def changed_paths(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Path]:
    """The paths of the fields that differ, down to the leaves of what was added or removed.

    An element of a list that was added or removed is one field. Those of one object or element that decide come first;
    metadata, messages and stamps of the time come last.
    """
    paths: list[Path] = []
    for path in dict.fromkeys(_up_to_element(old, new, path) for path in changed(old, new)):
        paths += _leaves(value_at(old, path), value_at(new, path), path)
    kept = [path for path in paths if path not in _SERVER]
    groups = [sorted(group, key=_rank) for _, group in groupby(kept, key=lambda path: path[:-1])]
    return sorted((path for group in groups for path in group), key=_says_little)


def _rank(path: Path) -> int:
    return rank(str(path[-1])) if path and not isinstance(path[-1], Element) else 0


def _says_little(path: Path) -> tuple[bool, bool]:
    return _rank(path) >= LITTLE, path[:1] == ("metadata",)


def _up_to_element(old: Any, new: Any, path: Path) -> Path:
    """A path, cut at the first element of a list on it that only one of two objects has."""
    for end, step in enumerate(path, 1):
        if isinstance(step, Element) and ABSENT in (value_at(old, path[:end]), value_at(new, path[:end])):
            return path[:end]
    return path


def field_changes(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> tuple[FieldChange, ...]:
    """The fields that a write changed.

    >>> field_changes({"data": {"a": "1"}}, {"data": {"a": "1", "b": "2"}})
    (FieldChange(path='data.b', before=None, after='2'),)
    """
    before, after = old or {}, new or {}
    return tuple(
        FieldChange(text_of(path), _shown(value_at(before, path)), _shown(value_at(after, path)))
        for path in changed_paths(before, after)
    )


def _leaves(before: Any, after: Any, path: Path) -> Iterator[Path]:
    """The parts of a field that is new or gone; a field without parts, or an element of a list, is its own only one."""
    one = after if before is ABSENT else before if after is ABSENT else None
    is_element = bool(path) and isinstance(path[-1], Element)
    if isinstance(one, Mapping) and one and not is_element and path not in _SERVER - {()}:
        for name in sorted(one):
            within = (*path, name)
            yield from _leaves(ABSENT, one[name], within) if before is ABSENT else _leaves(one[name], ABSENT, within)
    else:
        yield path


def _shown(value: Any) -> Any:
    return None if value is ABSENT else value


def shown(value: Any) -> str:
    """A value as JSON, cut where it is long; of uids and uuids only the start.

    >>> shown({"a": 1}), shown("x" * 60), shown("0051a5a1-0000-4000-8000-00000051a5a1")
    ('{"a":1}', '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…', '"0051a5a1…"')
    """
    if value is ABSENT or value is None:
        return "absent"
    text = IDENTITIES.sub(lambda match: match[0][:8] + "…".encode(), compact(value)).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
