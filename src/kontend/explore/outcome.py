"""Where a conversation has come to, the next call or the end, and how two of them differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from kontend.runtime.client.call import Call

#: A file and a line in it.
Place = tuple[str, int]
NOWHERE: Final[Place] = ("", 0)
_ABSENT: Final = object()
#: How much is shown of a value that differs.
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Done:
    """How a reconcile ended."""

    #: Run again: because of an error, or because it asked for it.
    again: bool
    error: str
    memory: bytes


class Outcome(NamedTuple):
    """What user code does after some answers: a call or the end, not both."""

    call: Call | None
    done: Done | None
    #: How many uuids were drawn so far.
    drawn: int
    #: The line of the user's code that makes the call.
    place: Place


def shown(place: Place) -> str:
    """A place in words.

    >>> shown(("/home/me/widgets.py", 31))
    'widgets.py:31'
    """
    return f"{Path(place[0]).name}:{place[1]}"


def difference(first: Outcome, second: Outcome) -> str:
    """How two outcomes differ, the smallest part that does; empty when they are the same.

    >>> said = [Call("update", "Pod/v1", "default", "p", body=b'{"spec": {"color": "%s"}}' % color)
    ...         for color in (b"red", b"blue")]
    >>> difference(*(Outcome(call, None, 0, ("/home/me/pods.py", 7)) for call in said))
    'pods.py:7: update Pod/v1 default/p: spec.color is "red" once and "blue" another time'
    """
    if _comparable(first) == _comparable(second):
        return ""
    place = next((each.place for each in (first, second) if each.place != NOWHERE), NOWHERE)
    where = f"{shown(place)}: " if place != NOWHERE else ""
    if _comparable(first)[:2] != _comparable(second)[:2]:
        return f"{where}it {_did(first)} once and {_did(second)} another time"
    if first.call is not None and second.call is not None and first.call != second.call:
        return f"{where}{first.call}: {_of_calls(first.call, second.call)}"
    if first.done is not None and second.done is not None and first.done.memory != second.done.memory:
        return f"what it remembers: {_of_json(first.done.memory, second.done.memory)}"
    return f"{where}it has drawn {first.drawn} uuids once and {second.drawn} another time"


def _comparable(outcome: Outcome) -> tuple[object, ...]:
    """What must be the same, what was done first. Of an error only the type: its text is for people."""
    call, done, drawn, _ = outcome
    if done is None:
        return str(call), "", call, drawn
    return done.again, done.error.partition(":")[0], done.memory, drawn


def _did(outcome: Outcome) -> str:
    if outcome.call is not None:
        return f"makes the call '{outcome.call}'"
    if outcome.done is None:
        return "does nothing"
    if outcome.done.error:
        return f"fails with '{outcome.done.error}'"
    return "ends, to run again," if outcome.done.again else "ends"


def _of_calls(first: Call, second: Call) -> str:
    if first.body != second.body:
        return _of_json(first.body, second.body)
    name = next(name for name in Call.__slots__ if getattr(first, name) != getattr(second, name))
    return f"its {name} is {_cut(repr(getattr(first, name)))} once and {_cut(repr(getattr(second, name)))} another time"


def _of_json(first: bytes, second: bytes) -> str:
    try:
        found = _first_difference(orjson.loads(first), orjson.loads(second), "")
    except orjson.JSONDecodeError:
        found = None
    if found is None:  # not JSON, or written in another way
        return f"{_cut(repr(first))} once and {_cut(repr(second))} another time"
    path, old, new = found
    if isinstance(old, list) and isinstance(new, list) and sorted(map(_text, old)) == sorted(map(_text, new)):
        path = f"the order of {path}"
    return f"{path} is {_cut(_text(old))} once and {_cut(_text(new))} another time"


def _first_difference(old: Any, new: Any, path: str) -> tuple[str, Any, Any] | None:
    """The first path at which two values differ; a list whose elements changed places counts as a whole."""
    if old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            within = f"{path}.{name}" if path else name
            found = _first_difference(old.get(name, _ABSENT), new.get(name, _ABSENT), within)
            if found is not None:
                return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differing = [index for index, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        if len(differing) == 1:  # with one element that differs, nothing can have changed places
            (index,) = differing
            return _first_difference(old[index], new[index], f"{path}[{index}]")
    return path or "it", old, new


def _text(value: Any) -> str:
    return "not there" if value is _ABSENT else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
