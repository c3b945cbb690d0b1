"""Traits of a request's text that the decoded object has lost, but that the server still sees.

A Go object tells an empty map or list from one that is not there, and keeps some JSON as bytes; an object as clients
see it does not. Both matter only to a few fields of a few kinds, which their strategies name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.resources import Resource
from kontend.kube.encoding.raw_json import Place, places, raw_texts, with_texts
from kontend.kube.field_errors import go_json
from kontend.kube.json_types import Json


@dataclass(frozen=True, slots=True)
class RequestText:
    """Fields that were written empty, and the texts of raw values."""

    empty: Mapping[tuple[str, ...], Any] = field(default_factory=dict)
    raw: Mapping[Place, str] = field(default_factory=dict)


PLAIN = RequestText()


def text_of(resource: Resource, obj: Json, body: bytes = b"") -> RequestText:
    """Return the traits of an object before it is decoded; ``body`` is its JSON, if a client wrote that itself."""
    strategy = resource.strategy
    if not strategy.empty_fields and not strategy.raw_fields:
        return PLAIN
    empty = {path: value for path in strategy.empty_fields if (value := _at(obj, path)) == [] or value == {}}
    if not strategy.raw_fields:
        return RequestText(empty) if empty else PLAIN
    if body:
        return RequestText(empty, raw_texts(body.decode("utf-8", "replace"), strategy.raw_fields))
    # What the server makes of an object itself is compact, with sorted keys.
    texts = {place: go_json(value) for path in strategy.raw_fields for place, value in places(obj, path)}
    return RequestText(empty, texts)


def stored_text(resource: Resource, body: bytes) -> Mapping[Place, str]:
    """Return the texts of raw values in a stored object."""
    return raw_texts(body.decode(), resource.strategy.raw_fields) if resource.strategy.raw_fields else {}


def restore(obj: Json, text: RequestText) -> None:
    """Give an object the traits of its text, in place."""
    for path, value in text.empty.items():
        holder = _at(obj, path[:-1])
        if isinstance(holder, dict) and (not holder.get(path[-1]) or len(path) > 1):
            holder[path[-1]] = value
    with_texts(obj, text.raw)


def with_owned_texts(obj: Json, text: RequestText, live: Json, stored: Mapping[Place, str]) -> None:
    """Give both objects the texts that decide who owns a field: those in lists, which are compared as they are."""
    for holder, texts in ((obj, text.raw), (live, stored)):
        if not texts:
            continue
        listed = {place: raw for place, raw in texts.items() if any(isinstance(step, int) for step in place)}
        with_texts(holder, listed)


def forget_empty(obj: Json, text: RequestText) -> None:
    """Take the empty fields away again, as storage does."""
    for path in text.empty:
        holder = _at(obj, path[:-1])
        if isinstance(holder, dict) and not holder.get(path[-1], True):
            del holder[path[-1]]


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
