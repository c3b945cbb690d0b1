"""Finds code that tells generations apart by more than their distances.

A generation counts the changes of a spec. Code compares the one that it reads with the one that was observed, or stores
it as observed; the number itself means nothing. So a run that a controller made is made again with other generations:
those of each object grow by a number of its own, in all responses, and once more with those objects growing most that
grew least. If every call and the end are the same but for these numbers, the run does the same for all generations.
Code that does something else counts, and so does code that compares the generations of two objects or stores one in a
field of another name: there, every generation is a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson
import xxhash

from kontend.explore.program.driven import Strayed
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.progress import Progress
from kontend.explore.program.tree import Program, RecordedRun
from kontend.runtime.client.call import Call
from kontend.runtime.controller import BadController

_FIELD: Final = b'eneration"'
#: Generations grow by so much at least, and by less than twice as much.
_APART: Final = 1_000


class _Further:
    """Numbers by which the generations of objects grow."""

    def __init__(self, mirrored: bool) -> None:
        self._mirrored = mirrored

    def of(self, kind: str, namespace: str, name: str) -> int:
        """The number of one object."""
        number = xxhash.xxh32_intdigest(f"{kind}\0{namespace}\0{name}".encode()) % _APART
        return _APART + (_APART - number if self._mirrored else number)


class Generations:
    """Knows whether the recorded runs of some controllers depend on generations. Each run is asked once."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self._programs = list(dict.fromkeys(programs))
        self._asked: set[bytes] = set()
        #: Some run has done something else with other generations.
        self._matter = False

    def matter(self) -> bool:
        """Some run so far does something else with other generations. Runs user code."""
        for program in self._programs:
            for end, run in program.longest_runs():
                if self._matter:
                    return True
                if end not in self._asked:
                    self._asked.add(end)
                    self._matter = not all(_is_same(program, run, _Further(mirrored)) for mirrored in (False, True))
        return self._matter


def _is_same(program: Program, run: RecordedRun, further: _Further) -> bool:
    """The controller makes the same run with other generations."""
    if _FIELD in run.start.memory:
        return False  # of which object?
    if not any(_FIELD in response for _, _, response in run.exchanges):
        return True
    try:
        driven = program.opened(run.start, str)
    except (Unsupported, BadController):
        return False
    try:
        for call, at, response in run.exchanges:
            calls = driven.progress().calls
            if at >= len(calls) or not _are_equal(call, calls[at], further):
                return False
            driven.respond(at, _response(call, response, further))
        before, after = run.progress, driven.progress()
        if _end(before) != _end(after) or len(before.calls) != len(after.calls):
            return False
        return all(_are_equal(*calls, further) for calls in zip(before.calls, after.calls, strict=True))
    except (Strayed, Unsupported, BadController):
        return False
    finally:
        driven.close()


def _end(progress: Progress) -> tuple[object, ...]:
    """The end of a run, but for the text of a failure: it is for people, and may well name a generation."""
    done = progress.done
    if done is None:
        return (progress.uuids,)
    failure = done.failure and (done.failure.type, done.failure.is_bug, done.failure.line)
    return progress.uuids, done.again, done.after, done.memory, failure


def _are_equal(recorded: Call, found: Call, further: _Further) -> bool:
    """A call is the one that was recorded, but for generations in its body."""
    if recorded == found:
        return _FIELD not in recorded.body
    if _address(recorded) != _address(found):
        return False
    try:
        return bool(_moved(recorded, orjson.loads(recorded.body), further) == orjson.loads(found.body))
    except orjson.JSONDecodeError:
        return False


def _address(call: Call) -> tuple[object, ...]:
    return call.verb, call.kind, call.namespace, call.name, call.subresource, call.content_type, call.query, call.cached


def _response(call: Call, response: bytes, further: _Further) -> bytes:
    """A response with other generations."""
    if response[:1] != b"=" or _FIELD not in response:
        return response
    return b"=" + orjson.dumps(_moved(call, orjson.loads(response[1:]), further), option=orjson.OPT_SORT_KEYS)


def _moved(call: Call, document: Any, further: _Further) -> Any:
    """A body, or a list of objects, with other generations: those of the object of a call, or of each of the list."""
    if isinstance(document, dict) and isinstance(document.get("items"), list) and call.verb == "list":
        return {**document, "items": [_moved_object(call, item, further) for item in document["items"]]}
    return _moved_object(call, document, further)


def _moved_object(call: Call, obj: Any, further: _Further) -> Any:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        metadata = {}
    name, namespace = metadata.get("name") or call.name, metadata.get("namespace") or call.namespace
    number = further.of(call.kind, namespace, name)
    return _grown(obj, lambda generation: generation + number, in_object=True)


def _grown(value: Any, grown: Callable[[int], int], *, in_object: bool = False) -> Any:
    """Data in which generations have grown."""
    if isinstance(value, list):
        return [_grown(item, grown) for item in value]
    if not isinstance(value, dict):
        return value
    found = {
        name: grown(item) if name == "observedGeneration" and type(item) is int else _grown(item, grown)
        for name, item in value.items()
    }
    metadata = found.get("metadata")
    if in_object and isinstance(metadata, dict) and type(metadata.get("generation")) is int:
        found["metadata"] = {**metadata, "generation": grown(metadata["generation"])}
    return found
