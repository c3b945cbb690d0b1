"""Values and elements of lists, as readers want to see them: what decides first, stamps and messages last.

A condition, or a container in a list, that differs in several fields is one difference and not as many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal

import orjson

from kontend.report.document import Difference, FieldChange

#: Fields that name or decide an element, those that say little about it, and those that say nothing.
_FIRST: Final = ("type", "name", "status", "phase", "state")
_LATE: Final = ("metadata", "message")
_LAST: Final = re.compile(r"observedGeneration|.*(Time|Timestamp)")
#: The rank from which on fields say little.
LITTLE: Final = len(_FIRST) + 1
#: An element of a list by its merge key, and a field of it.
_IN_ELEMENT: Final = re.compile(r"(.*\[\w+=[^\]]*\])\.([^\]]+)")
_ELEMENT: Final = re.compile(r".*\[(\w+)=[^\]]*\]")


def rank(name: str) -> int:
    """Orders the fields of an object for readers: 0 for what names it, from :data:`LITTLE` on messages and stamps.

    >>> sorted(["lastTransitionTime", "message", "reason", "status", "type"], key=rank)
    ['type', 'status', 'reason', 'message', 'lastTransitionTime']
    """
    if name in _FIRST:
        return _FIRST.index(name)
    if name in _LATE:
        return LITTLE
    return LITTLE + 1 if _LAST.fullmatch(name) else LITTLE - 1


def compact(content: Any) -> bytes:
    """Return a value as JSON, the fields of objects in the order of :func:`rank`.

    >>> compact({"lastTransitionTime": "2026-01-01T00:00:00Z", "status": "True", "reason": "Up"})
    b'{"status":"True","reason":"Up","lastTransitionTime":"2026-01-01T00:00:00Z"}'
    """
    return orjson.dumps(ordered(content))


def ordered(content: Any) -> Any:
    """Return a value with the fields of objects in the order of :func:`rank`."""
    if isinstance(content, Mapping):
        return {name: ordered(content[name]) for name in sorted(content, key=lambda name: (rank(name), name))}
    return [ordered(item) for item in content] if isinstance(content, list) else content


def without_key(path: str, content: Any) -> Any:
    """Return an element of a list without the field that its path has already, unless there is no other.

    >>> without_key("status.conditions[type=Ready]", {"type": "Ready", "status": "True"})
    {'status': 'True'}
    """
    element = _ELEMENT.fullmatch(path)
    if element is None or not isinstance(content, Mapping):
        return content
    return {name: value for name, value in content.items() if name != element[1]} or content


def is_element(path: str) -> bool:
    """Return whether a path names an element of a list by its merge key."""
    return _ELEMENT.fullmatch(path) is not None


def joined(fields: Sequence[FieldChange]) -> list[FieldChange]:
    """Field changes, those of several fields of one element as one, in the place of the first.

    >>> path = "status.conditions[type=Ready]"
    >>> joined([FieldChange(f"{path}.reason", "Down", "Up"), FieldChange(f"{path}.status", "False", "True")])[0]
    FieldChange(path='status.conditions[type=Ready]', before={...'status': 'False'}, after={...'status': 'True'})
    """
    members: dict[str, dict[str, list[FieldChange]]] = {}
    for change in fields:
        element, field = _place(change)
        members.setdefault(element, {}).setdefault(field, []).append(change)
    result: list[FieldChange] = []
    for element, change in [(_place(change)[0], change) for change in fields]:
        parts = members.get(element)
        if not element or (parts is not None and len(parts) < 2):
            result.append(change)
        elif parts is not None:
            result.append(FieldChange(element, _side(parts, "before"), _side(parts, "after")))
            del members[element]
    return result


def joined_differences(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Differences of final states, those in several fields of one element as one."""
    for name, group in groupby(differences, key=lambda difference: difference.object):
        for change in joined([FieldChange(each.path, each.expected, each.got) for each in group]):
            yield Difference(name, change.path, change.after, change.before)


def _place(change: FieldChange) -> tuple[str, str]:
    """Return the element that a field belongs to, and the field in it; empty where it belongs to none."""
    path = list_of(change.path, change.after if change.before is None else change.before) or change.path
    match = _IN_ELEMENT.fullmatch(path)
    return (match[1], match[2]) if match is not None else ("", "")


def _side(parts: Mapping[str, Sequence[FieldChange]], side: Literal["before", "after"]) -> dict[str, Any]:
    """Return the values of the fields of an element before or after; scalars that come and go in a list as that
    list."""
    values: dict[str, Any] = {}
    for field, changes in parts.items():
        there = [content for change in changes if (content := getattr(change, side)) is not None]
        if there:
            values[field] = there[0] if changes[0].path.endswith(f".{field}") else there
    return values


def list_of(path: str, element: Any) -> str:
    """Return the path of the list that a path of a scalar element belongs to; empty for other paths.

    >>> list_of('metadata.finalizers["a/b"]', "a/b")
    'metadata.finalizers'
    """
    end = f"[{compact(element).decode()}]"
    return path.removesuffix(end) if path.endswith(end) else ""
