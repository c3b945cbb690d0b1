"""The progress of a run: the calls it waits for or its end, and how two runs differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import UNKNOWN, SourceLocation

_ABSENT: Final = object()
#: Characters that are shown of a value that differs.
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that a reconcile raised."""

    #: The class of the exception, and its message without addresses in memory.
    type: str
    message: str = ""
    #: True for a programming error (TypeError, KeyError …), False for a way to ask for a retry.
    is_bug: bool = False
    line: SourceLocation = UNKNOWN
    traceback: str = ""

    @property
    def text(self) -> str:
        """Type and message, as Python prints them."""
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a reconcile."""

    #: Run again: because of a failure, or because the reconcile asked for it.
    again: bool
    failure: Failure | None
    memory: bytes
    #: The seconds until then; 0 for as soon as possible.
    after: float = 0.0
    #: The seconds for which it slept, if it asked for the time: it saw them pass.
    slept: int = 0


class Enqueued(NamedTuple):
    """A request that a reconcile itself adds to a queue of its process, such as by an event that it sends."""

    controller: str
    request: Key


class Progress(NamedTuple):
    """The behaviour of user code after some responses: it waits for calls, or it has ended."""

    #: The calls it waits for, in the order in which it made them.
    calls: tuple[Call, ...]
    done: Done | None
    #: The number of uuids that it has generated so far.
    uuids: int
    #: For each call, the line of user code that made it.
    lines: tuple[SourceLocation, ...] = ()
    #: It has asked for the time.
    asks_time: bool = False
    #: The requests that it has added to queues since the response before.
    enqueued: tuple[Enqueued, ...] = ()


def difference(first: Progress, second: Progress) -> str:
    """Describes the smallest part in which two runs differ; empty when they agree.

    >>> calls = [Call("update", "Pod/v1", "default", "p", body=b'{"spec": {"color": "%s"}}' % color)
    ...          for color in (b"red", b"blue")]
    >>> difference(*(Progress((call,), None, 0, (SourceLocation("/home/me/pods.py", 7),)) for call in calls))
    'pods.py:7: update Pod/v1 default/p: spec.color is "red" in one run and "blue" in another'
    """
    if _comparable(first) == _comparable(second):
        return ""
    at = next((at for at, (one, other) in enumerate(zip(first.calls, second.calls, strict=False)) if one != other), 0)
    lines = [progress.lines[at] for progress in (first, second) if at < len(progress.lines)]
    line = next((line for line in lines if line != UNKNOWN), UNKNOWN)
    where = f"{line.short}: " if line != UNKNOWN else ""
    if first.enqueued != second.enqueued:
        return f"{where}it enqueues {_listed(first)} in one run and {_listed(second)} in another"
    if _outline(first) != _outline(second):
        return f"{where}it {_described(first)} in one run and {_described(second)} in another"
    if first.calls != second.calls:
        return f"{where}{first.calls[at]}: {_of_calls(first.calls[at], second.calls[at])}"
    if first.done is not None and second.done is not None and first.done.memory != second.done.memory:
        return f"its memory: {_of_json(first.done.memory, second.done.memory)}"
    return f"{where}it generated {first.uuids} uuids in one run and {second.uuids} in another"


def _comparable(progress: Progress) -> tuple[object, ...]:
    """All that must agree. Of a failure only the type: its text is for people."""
    memory = progress.done and progress.done.memory
    return _outline(progress), progress.calls, memory, progress.uuids, progress.enqueued


def _listed(progress: Progress) -> str:
    return " and ".join(f"{request} for {controller}" for controller, request in progress.enqueued) or "nothing"


def _outline(progress: Progress) -> tuple[object, ...]:
    done = progress.done
    if done is None:
        return tuple((call.verb, call.kind, call.key, call.subresource, call.cached) for call in progress.calls)
    return "ended", done.again, done.after, done.failure is not None and done.failure.type


def _described(progress: Progress) -> str:
    if progress.done is None:
        return " and ".join(f"calls {call}" for call in progress.calls) or "waits"
    if progress.done.failure is not None:
        return f"raises {progress.done.failure.type}"
    if progress.done.after:
        return f"asks to run again after {progress.done.after:g} s"
    return "asks to run again" if progress.done.again else "ends"


def _of_calls(first: Call, second: Call) -> str:
    if first.body != second.body:
        return _of_json(first.body, second.body)
    if first.query != second.query:
        return f"its query is {dict(first.query)} in one run and {dict(second.query)} in another"
    return f"its content type is {first.content_type} in one run and {second.content_type} in another"


def _of_json(first: bytes, second: bytes) -> str:
    try:
        where = _first_difference(orjson.loads(first or b"null"), orjson.loads(second or b"null"), "")
    except orjson.JSONDecodeError:
        where = None
    if where is None:  # the same value, written in another way
        return f"{_cut(repr(first))} in one run and {_cut(repr(second))} in another"
    path, old, new = where
    if isinstance(old, list) and isinstance(new, list) and sorted(map(_text, old)) == sorted(map(_text, new)):
        path = f"the order of {path}"
    return f"{path} is {_cut(_text(old))} in one run and {_cut(_text(new))} in another"


def _first_difference(old: Any, new: Any, path: str) -> tuple[str, Any, Any] | None:
    """The first path at which two values differ; a list whose elements changed places counts as a whole."""
    if old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            within = f"{path}.{name}" if path else name
            where = _first_difference(old.get(name, _ABSENT), new.get(name, _ABSENT), within)
            if where is not None:
                return where
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differing = [index for index, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        if len(differing) == 1:  # with one element that differs, none can have changed places
            (index,) = differing
            return _first_difference(old[index], new[index], f"{path}[{index}]")
    return path or "it", old, new


def _text(value: Any) -> str:
    return "absent" if value is _ABSENT else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
