"""Impure calls: clocks, random numbers, process ids and hashes, with the line of user code that makes them.

While a reconcile is watched, the interpreter reports every call. Impure ones are noted with the line of the user's own
code they come from. Clocks, random numbers, fresh uuids, hashes and process ids are forbidden in a reconcile even while
two runs agree: two runs within a second agree on the date. Durations and addresses may be logged, so they are suspects
only when two runs differ. So are the clocks and random numbers of libraries: a logger asks for the time.
"""

from __future__ import annotations

import _socket
import _thread
import ast
import datetime
import io
import itertools
import linecache
import os
import random
import secrets
import select
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple

from kontend.explore.program import outside
from kontend.explore.program.user_code import UserCode
from kontend.runtime.source_location import SourceLocation

_CLOCK: Final = "use api.now()"
_UUID: Final = "use api.uuid()"
_RANDOM: Final = "use api.uuid(), or random.Random(seed) with a seed that comes from what was read"
_DURATION: Final = "a duration may be logged, but nothing may depend on it"
_PROCESS: Final = "it differs from one process to the next"
_HASH: Final = "the hash of a text differs from one process to the next; use hashlib"
_SLEEP: Final = "it blocks all other reconciles; return Result(requeue_after=...) instead"
_THREAD: Final = "threads cannot be explored; use asyncio.gather or a TaskGroup"
_SOCKET: Final = "what is not in the cluster cannot be explored"
#: Calls that a message names.
_MOST: Final = 3


class _Source(NamedTuple):
    """An impure function."""

    name: str
    advice: str
    #: True if a reconcile must not call it at all.
    forbidden: bool = True
    #: Nor may a library that it calls.
    anywhere: bool = False


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
    **_table("os", os, "urandom getrandom", _RANDOM),
    **_table("time", time, "gmtime localtime ctime asctime strftime clock_gettime", _CLOCK, forbidden=False),
    **_table("time", time, "monotonic monotonic_ns perf_counter perf_counter_ns", _DURATION, forbidden=False),
    **_table("time", time, "process_time process_time_ns thread_time thread_time_ns", _DURATION, forbidden=False),
    **_table("os", os, "getpid getppid", _PROCESS),
    **_table("threading", threading, "get_ident get_native_id", _PROCESS),
    id: _Source("id()", _PROCESS, forbidden=False),
    hash: _Source("hash()", _HASH),
    # Older Pythons report no audit events for these two (see outside.py).
    time.sleep: _Source("time.sleep()", _SLEEP, anywhere=True),
    _thread.start_new_thread: _Source("_thread.start_new_thread()", _THREAD, anywhere=True),
}
#: These ask the clock unless they are given a time, as the argument with this number.
_TIME_ARGUMENT: Final[dict[Callable[..., Any], int]] = {
    time.gmtime: 1,
    time.localtime: 1,
    time.ctime: 1,
    time.asctime: 1,
    time.strftime: 2,
}
_UUIDS: Final = {"uuid1", "uuid4", "uuid6", "uuid7"}
#: Methods of a socket that leave the process or bring something in; opening one and looking at it do not.
_TRAFFIC: Final = ("accept", "connect", "recv", "send")
_MODULE_GENERATOR: Final = random.random.__self__  # type: ignore[attr-defined]
#: Modules that are written in Python, by their files.
_FILES: Final = {module.__file__: module.__name__ for module in (random, secrets, threading, uuid)}
_OUTSIDE: Final = "what is not in the cluster cannot be explored"
_WAITS: Final = "it keeps all other reconciles waiting; return Result(requeue_after=...) instead"
#: The modules of the system's calls, and those of their functions that only look, or that audit events report.
_SYSTEM: Final[dict[int, frozenset[str]]] = {
    id(module): frozenset(names.split())
    for module, names in (
        (
            os.stat.__self__,  # type: ignore[attr-defined]
            "access close confstr cpu_count fspath fstat fstatvfs get_blocking get_inheritable get_terminal_size "
            "getcwd getcwdb getegid geteuid getgid getgroups getloadavg getlogin getpgid getpgrp getpriority getuid "
            "getxattr isatty listdir listxattr lseek lstat open pathconf pread read readlink readv scandir "
            "sched_getaffinity stat statvfs strerror sysconf uname",
        ),
        (
            signal.default_int_handler.__self__,  # type: ignore[attr-defined]
            "default_int_handler getitimer getsignal sigpending strsignal valid_signals",
        ),
        (select, ""),
    )
}
#: Files that are open already: writing to them raises no event.
_WRITERS: Final = (io.FileIO, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
_WRITES: Final = ("write", "truncate")


class _ImpureCall(NamedTuple):
    """An impure call that was made."""

    source: _Source
    line: SourceLocation
    #: Made by the user's own code, not by a library that it uses.
    direct: bool


class ImpureCalls:
    """Notes impure calls for as long as it is entered."""

    def __init__(self, code: UserCode) -> None:
        self._code = code
        self._made: dict[_ImpureCall, None] = {}
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
        return _described(
            [call for call in self._made if call.source.anywhere or (call.direct and call.source.forbidden)]
        )

    def suspects(self) -> list[str]:
        """The calls that may be why two runs differ, the likeliest kind only."""
        direct = [call for call in self._made if call.direct]
        indirect = [call for call in self._made if call.source.forbidden]
        return self.forbidden() or _described(direct or indirect)

    def _note(self, frame: FrameType, event: str, function: Any) -> None:
        """Profile function: ``frame`` calls a function of C, or is the frame of one of Python."""
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
        # Imports ask for the thread they run in.
        if caller is not None and caller.f_code.co_filename.startswith("<frozen importlib"):
            return
        # Generated code, such as the __init__ of a dataclass, belongs to its caller.
        while caller is not None and caller is not self._floor and caller.f_code.co_filename.startswith("<"):
            caller = caller.f_back
        direct = True
        while caller is not None and caller is not self._floor:
            if caller.f_code.co_filename == outside.__file__:  # what confines a reconcile sets timers
                return
            if self._code.has(caller.f_code.co_filename):
                self._made[_ImpureCall(source, SourceLocation(caller.f_code.co_filename, caller.f_lineno), direct)] = (
                    None
                )
                return
            direct = False
            caller = caller.f_back


def _described(calls: list[_ImpureCall]) -> list[str]:
    lines = [
        f"{call.line.short} {'calls' if call.direct else 'leads to a call of'} {call.source.name}; {call.source.advice}"
        for call in calls
    ]
    return list(dict.fromkeys(lines))[:_MOST]


def _built_in(function: Any, frame: FrameType) -> _Source | None:
    source = _BUILT_IN.get(function)
    if source is None:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, _socket.socket) and function.__name__.startswith(_TRAFFIC):
            return _Source(f"socket.{function.__name__}()", _SOCKET, anywhere=True)
        if isinstance(owner, _WRITERS) and function.__name__.startswith(_WRITES) and owner not in _printing():
            return _Source(f"{function.__name__}() of a file", _OUTSIDE)
        if isinstance(owner, ModuleType):
            return _of_system(owner, function.__name__)
        return _of_generator(owner, function.__name__) if isinstance(owner, random.Random) else None
    if function in _TIME_ARGUMENT:
        given = _arguments(frame)
        if given is not None:
            return source._replace(forbidden=True) if given < _TIME_ARGUMENT[function] else None
    return source


def _of_system(module: ModuleType, name: str) -> _Source | None:
    harmless = _SYSTEM.get(id(module))
    if harmless is None or name in harmless or name.startswith("_"):
        return None
    shown = "os" if module.__name__ in ("posix", "nt") else module.__name__.lstrip("_")
    # The functions of signal are wrapped by others in Python.
    return _Source(f"{shown}.{name}()", _OUTSIDE, anywhere=shown == "signal")


def _printing() -> tuple[object, ...]:
    """The streams that print, which may be those of a test."""
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    return (*streams, *(getattr(stream, "buffer", None) for stream in streams))


def _of_library(frame: FrameType) -> _Source | None:
    module, name = _FILES[frame.f_code.co_filename], frame.f_code.co_name
    if module == "uuid":
        return _Source(f"uuid.{name}()", _UUID) if name in _UUIDS else None
    if module == "threading":
        waits = name == "wait" and isinstance(frame.f_locals.get("self"), threading.Condition)
        return _Source("wait() of threading", _WAITS, anywhere=True) if waits else None
    if module == "secrets":
        return _Source(f"secrets.{name}()", _RANDOM)
    if name == "__init__":
        unseeded = frame.f_locals.get("x", "") is None
        return _Source("random.Random() without a seed", _RANDOM) if unseeded else None
    return _of_generator(frame.f_locals.get("self"), name)


def _of_generator(generator: object, name: str) -> _Source | None:
    if generator is _MODULE_GENERATOR:
        return _Source(f"random.{name}()", _RANDOM)
    if isinstance(generator, random.SystemRandom):
        return _Source(f"random.SystemRandom().{name}()", _RANDOM)
    if isinstance(generator, random.Random):
        return _Source(f"Random.{name}()", "make the Random in the reconcile, with a seed", forbidden=False)
    return None


def _arguments(frame: FrameType) -> int | None:
    """The number of arguments of the call that a frame is making; None where its source cannot be read."""
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
