"""The text of JSON values that the server keeps as it was written.

A few fields hold any JSON (``runtime.RawExtension``), and the server compares and stores their bytes: ``{"a": 1}`` and
``{"a":1}`` are two values. :func:`raw_texts` finds the texts at given paths, :func:`with_texts` gives them to the
parsed values, which are then equal only if their texts are, and :func:`spliced` writes them back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.kube.json_types import Json

#: Field names, with ``*`` for any item of a list.
RawPath = tuple[str, ...]
#: Field names and indexes.
Place = tuple[str | int, ...]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_SCALAR: Final = re.compile(r"[^,\]}\s]+")


class RawObject(dict[str, Any]):
    """A JSON object with its text."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawObject) and self.text == other.text

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def raw_texts(text: str, paths: Iterable[RawPath]) -> dict[Place, str]:
    """Return the texts of the objects at some paths of a well-formed JSON text.

    >>> raw_texts('{"a": [{"b": { "c":1}}, {}]}', [("a", "*", "b")])
    {('a', 0, 'b'): '{ "c":1}'}
    """
    texts: dict[Place, str] = {}
    for path in paths:
        _find(text, _skip_space(text, 0), path, (), texts)
    return texts


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end(text: str, at: int) -> int:
    """Return the position after the value that begins at ``at``."""
    if text[at] == '"':
        string = _STRING.match(text, at)
        return string.end() if string else len(text)
    if text[at] not in "{[":
        scalar = _SCALAR.match(text, at)
        return scalar.end() if scalar else at + 1
    depth = 0
    for token in _BRACKETS.finditer(text, at):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _find(text: str, at: int, path: RawPath, place: Place, texts: dict[Place, str]) -> None:
    if not path:
        if text[at] == "{":
            texts[place] = text[at : _end(text, at)]
        return
    if text[at] == "{" and path[0] != "*":
        for key, start in _members(text, at):
            if key == path[0]:
                _find(text, start, path[1:], (*place, key), texts)
    elif text[at] == "[" and path[0] == "*":
        for index, start in enumerate(_items(text, at)):
            _find(text, start, path[1:], (*place, index), texts)


def _members(text: str, at: int) -> Iterable[tuple[str, int]]:
    at = _skip_space(text, at + 1)
    while text[at] != "}":
        end = _end(text, at)
        key = json.loads(text[at:end])
        start = _skip_space(text, _skip_space(text, end) + 1)
        yield key, start
        at = _next(text, start)


def _items(text: str, at: int) -> Iterable[int]:
    at = _skip_space(text, at + 1)
    while text[at] != "]":
        yield at
        at = _next(text, at)


def _next(text: str, start: int) -> int:
    at = _skip_space(text, _end(text, start))
    return _skip_space(text, at + 1) if text[at] == "," else at


def with_texts(obj: Json, texts: Mapping[Place, str]) -> None:
    """Give the objects at some places their texts; what is not there any more is left out."""
    for place, text in texts.items():
        holder: Any = obj
        try:
            for step in place[:-1]:
                holder = holder[step]
            value = holder[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(value, dict):
            raw = RawObject(value)
            raw.text = text
            holder[place[-1]] = raw


def places(obj: Any, path: RawPath, place: Place = ()) -> Iterable[tuple[Place, Json]]:
    """Yield the objects at a path."""
    if not path:
        if isinstance(obj, dict):
            yield place, obj
    elif path[0] == "*":
        for index, item in enumerate(obj if isinstance(obj, list) else ()):
            yield from places(item, path[1:], (*place, index))
    elif isinstance(obj, dict) and path[0] in obj:
        yield from places(obj[path[0]], path[1:], (*place, path[0]))


def spliced(obj: Json, paths: Iterable[RawPath]) -> tuple[Json, dict[bytes, bytes]]:
    """Return a copy with marks in the place of texts, and what the marks stand for once the copy is written."""
    texts = {place: raw.text for path in paths for place, raw in places(obj, path) if isinstance(raw, RawObject)}
    marks: dict[bytes, bytes] = {}
    for number, (place, text) in enumerate(texts.items()):
        mark = f"\u007fraw text {number}\u007f"
        obj = _replaced(obj, place, mark)
        marks[json.dumps(mark, ensure_ascii=False).encode()] = text.encode()
    return obj, marks


def _replaced(value: Any, place: Place, new: Any) -> Any:
    if not place:
        return new
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    copy[place[0]] = _replaced(copy[place[0]], place[1:], new)
    return copy
