"""Fields of objects in explanations: names of objects, values by path, changes between two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from kontend.cluster.state import Version
from kontend.explore.program.identities import FIRST_VERSION, IDENTITIES, VERSIONS
from kontend.explore.properties.overwrites import Element, Path, changed, path_text
from kontend.kube.meta.names import Key, kind_of
from kontend.report.document import FieldChange

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


def _is(item: Any, element: Element) -> bool:
    if element.key:
        return isinstance(item, Mapping) and item.get(element.key) == element.value
    return bool(item == element.value)


def changed_paths(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Path]:
    """The paths of the fields that differ, down to the leaves of what was added or removed."""
    paths: list[Path] = []
    for path in changed(old, new):
        paths += _leaves(value_at(old, path), value_at(new, path), path)
    return [path for path in paths if path not in _SERVER]


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
    """The parts of a field that is new or gone; a field that has no parts is its own only one."""
    one = after if before is ABSENT else before if after is ABSENT else None
    if isinstance(one, Mapping) and one and path not in _SERVER - {()}:
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
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    text = IDENTITIES.sub(lambda match: match[0][:8] + "…".encode(), raw).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
