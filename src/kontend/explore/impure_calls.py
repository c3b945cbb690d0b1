"""Calls that give something else each time: clocks, dice, addresses, and who calls them.

While a reconcile is watched, the interpreter tells of every call. Those that are known to be impure are noted with the
line of the user's own code they were made from. Clocks, dice and fresh uuids have no place in a reconcile and are
forbidden even where nothing came of them yet: two runs within a second agree on the date. What measures a duration, or
only differs from process to process, is fine until two runs differ; then it is a suspect. So are the clocks and dice of
libraries: a logger asks for the time, and nobody minds.
"""

from __future__ import annotations

import ast
import datetime
import itertools
import linecache
import os
import random
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NamedTuple

from kontend.explore.outcome import Place, shown
from kontend.explore.user_code import UserCode

_CLOCK: Final = "use api.now()"
_UUID: Final = "use api.uuid()"
_DICE: Final = "use api.uuid(), or random.Random(seed) with a seed that comes from what was read"
_DURATION: Final = "a duration may be logged, but nothing may depend on it"
_PROCESS: Final = "it differs from one process to the next"
#: How many calls are named.
_MOST: Final = 3


class _Source(NamedTuple):
    """A function that gives something else each time."""

    name: str
    advice: str
    #: Not to be called by a reconcile at all.
    forbidden: bool = True


def _table(
    module: str, owner: object, names: str, advice: str, *, forbidden: bool = True
) -> dict[Callable[..., Any], _Source]:
    """Some functions of a module or a class; those that this Python does not have are left out."""
    return {
        getattr(owner, name): _Source(f"{module}.{name}()", advice, forbidden)
        for name in names.split()
        if hasattr(owner, name)
    }


#: Functions written in C, by themselves: bound methods of C are equal when they are the same method of the same object.
_BUILT_IN: Final[dict[Callable[..., Any], _Source]] = {
    **_table("time", time, "time time_ns", _CLOCK),
    **_table("datetime", datetime.datetime, "now utcnow today", _CLOCK),
    **_table("date", datetime.date, "today", _CLOCK),
    **_table("os", os, "urandom getrandom", _DICE),
    **_table("time", time, "gmtime localtime ctime asctime strftime clock_gettime", _CLOCK, forbidden=False),
    **_table("time", time, "monotonic monotonic_ns perf_counter perf_counter_ns", _DURATION, forbidden=False),
    **_table("time", time, "process_time process_time_ns thread_time thread_time_ns", _DURATION, forbidden=False),
    **_table("os", os, "getpid getppid", _PROCESS, forbidden=False),
    **_table("threading", threading, "get_ident get_native_id", _PROCESS, forbidden=False),
    id: _Source("id()", _PROCESS, forbidden=False),
    hash: _Source("hash()", _PROCESS, forbidden=False),
}
#: These ask the clock unless they are given a time, as argument number so many.
_TIME_ARGUMENT: Final[dict[Callable[..., Any], int]] = {
    time.gmtime: 1,
    time.localtime: 1,
    time.ctime: 1,
    time.asctime: 1,
    time.strftime: 2,
}
_UUIDS: Final = {"uuid1", "uuid4", "uuid6", "uuid7"}
_MODULE_DICE: Final = random.random.__self__  # type: ignore[attr-defined]
#: Modules that are written in Python, by their files.
_FILES: Final = {each.__file__: each.__name__ for each in (random, secrets, uuid)}


class _Made(NamedTuple):
    """A call that was made."""

    source: _Source
    place: Place
    #: By the user's own code, not by a library that it uses.
    direct: bool


class ImpureCalls:
    """Notes impure calls for as long as it is entered."""

    def __init__(self, code: UserCode) -> None:
        self._code = code
        self._made: dict[_Made, None] = {}
        self._before: Any = None
        self._floor: FrameType | None = None

    def __enter__(self) -> ImpureCalls:
        self._before = sys.getprofile()
        # A profiler written in C cannot be put back from here; then it is left alone and nothing is noted.
        if self._before is None or callable(self._before):
            self._floor = sys._getframe(1)
            sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._floor is not None:
            sys.setprofile(self._before)
            self._floor = None

    def forbidden(self) -> list[str]:
        """The calls that a reconcile must not make."""
        return self._told([each for each in self._made if each.direct and each.source.forbidden])

    def suspects(self) -> list[str]:
        """The calls that may be why two runs differ, the likeliest kind only."""
        direct = [each for each in self._made if each.direct]
        indirect = [each for each in self._made if each.source.forbidden]
        return self.forbidden() or self._told(direct or indirect)

    def _told(self, calls: list[_Made]) -> list[str]:
        lines = [
            f"{shown(each.place)} {'calls' if each.direct else 'leads to a call of'} {each.source.name}; "
            f"{each.source.advice}"
            for each in calls
        ]
        return list(dict.fromkeys(lines))[:_MOST]

    def _note(self, frame: FrameType, event: str, function: Any) -> None:
        """What the interpreter calls: ``frame`` calls a function of C, or is the frame of one of Python."""
        caller: FrameType | None = frame
        if event == "c_call":
            source = _built_in(function, frame)
        elif event == "call" and frame.f_code.co_filename in _FILES:
            source = _of_library(frame)
            caller = frame.f_back
        else:
            return
        if source is None:
            return
        # Generated code, such as the __init__ of a dataclass, is whoever's asked for it.
        while caller is not None and caller is not self._floor and caller.f_code.co_filename.startswith("<"):
            caller = caller.f_back
        direct = True
        while caller is not None and caller is not self._floor:
            if self._code.has(caller.f_code.co_filename):
                self._made[_Made(source, (caller.f_code.co_filename, caller.f_lineno), direct)] = None
                return
            direct = False
            caller = caller.f_back


def _built_in(function: Any, frame: FrameType) -> _Source | None:
    source = _BUILT_IN.get(function)
    if source is None:
        dice = getattr(function, "__self__", None)
        return _of_dice(dice, function.__name__) if isinstance(dice, random.Random) else None
    if function in _TIME_ARGUMENT:
        given = _arguments(frame)
        if given is not None:
            return source._replace(forbidden=True) if given < _TIME_ARGUMENT[function] else None
    return source


def _of_library(frame: FrameType) -> _Source | None:
    module, name = _FILES[frame.f_code.co_filename], frame.f_code.co_name
    if module == "uuid":
        return _Source(f"uuid.{name}()", _UUID) if name in _UUIDS else None
    if module == "secrets":
        return _Source(f"secrets.{name}()", _DICE)
    if name == "__init__":
        unseeded = frame.f_locals.get("x", "") is None
        return _Source("random.Random() without a seed", _DICE) if unseeded else None
    return _of_dice(frame.f_locals.get("self"), name)


def _of_dice(dice: object, name: str) -> _Source | None:
    if dice is _MODULE_DICE:
        return _Source(f"random.{name}()", _DICE)
    if isinstance(dice, random.SystemRandom):
        return _Source(f"random.SystemRandom().{name}()", _DICE)
    if isinstance(dice, random.Random):
        return _Source(f"Random.{name}()", "make the Random in the reconcile, with a seed", forbidden=False)
    return None


def _arguments(frame: FrameType) -> int | None:
    """How many arguments the call has that a frame is making; None where its source cannot be read."""
    at = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    first, last, begin, end = at
    if first is None or last is None or begin is None or end is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, line).encode() for line in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        call = ast.parse(b"(%s)" % b"".join(lines), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return len(call.args) + len(call.keywords) if isinstance(call, ast.Call) else None
