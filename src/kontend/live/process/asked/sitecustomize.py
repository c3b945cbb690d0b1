"""Lets a Python program print its stacks when it gets SIGQUIT, and end: as a Go program does by itself.

Found by way of PYTHONPATH, and only in runs that ask for stacks. The stacks of tasks count as well as those of threads:
a handler that waits for an answer is on no thread's stack. Frames of the standard library and of installed packages
are left out, unless the command line names the package: an operator may be installed too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import FrameType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
Place = tuple[str, int, str]


def stacks() -> Iterator[list[Place]]:
    """The own frames of all threads and tasks that wait in a library, innermost first."""
    threads = dict(sys._current_frames())
    with contextlib.suppress(RuntimeError):  # no loop runs in this thread
        current = asyncio.current_task()
        for task in asyncio.all_tasks():
            if task is not current:
                yield _own([*_awaiting(task.get_coro())][::-1])
        if current is None:
            threads.pop(threading.get_ident(), None)  # the loop waits
    for frame in threads.values():
        yield _own([*_callers(frame)])


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _awaiting(coroutine: Any) -> Iterator[FrameType]:
    """The frames of a coroutine and of those that it waits for."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            yield frame
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)


def _own(frames: list[FrameType]) -> list[Place]:
    """The places of own frames, if the innermost frame of all is another's: own code waits for no answer by itself."""
    if not frames or _is_own(frames[0]):
        return []
    return [(each.f_code.co_filename, each.f_lineno, each.f_code.co_name) for each in frames if _is_own(each)]


def _is_own(frame: FrameType) -> bool:
    file, paths = frame.f_code.co_filename, sysconfig.get_paths()
    installed = (paths["purelib"] + os.sep, paths["platlib"] + os.sep)
    below = next((file[len(each) :] for each in installed if file.startswith(each)), None)
    if below is None:
        return os.path.isabs(file) and not file.startswith((paths["stdlib"] + os.sep, HERE))
    named = {os.path.basename(argument).partition(".")[0] for argument in sys.argv[1:]}
    return below.partition(os.sep)[0].partition(".")[0] in named


def _answer(*_: object) -> None:
    for stack in stacks():
        if stack:
            lines = "".join(f"{file}:{line} {function}\n" for file, line, function in stack)
            sys.stderr.write(f"kontend stack\n{lines}\n")
    sys.stderr.flush()
    os._exit(2)


def _install() -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGQUIT, _answer)
    # There may be another one, which this one hides.
    others = [each for each in sys.path if os.path.abspath(each) != HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if __name__ == "sitecustomize":
    _install()
