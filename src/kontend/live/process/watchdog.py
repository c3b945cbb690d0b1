"""A watchdog that kills the processes of runs when this process dies without a chance to do it itself (``kill -9``).

It holds the other end of a pipe, and learns of our death by its end. It is a process in a session of its own, so that
a signal to our process group does not end it first. One serves all runs of this process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final

from kontend.live.process.processes import ENDS

#: Begins the marks of all runs of this process.
PREFIX: Final = secrets.token_hex(6)


@functools.cache
def _pipe() -> int:
    """Start the watchdog, and return our end of the pipe."""
    ours, theirs = os.pipe()
    # Run as a file, without the rest of the package, so that it starts at once.
    script = str(Path(__file__).with_name("processes.py"))
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", script, PREFIX],
        stdin=ours,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    os.close(ours)

    def end() -> None:
        with contextlib.suppress(OSError):
            os.write(theirs, ENDS.encode())
        os.close(theirs)
        started.wait()

    atexit.register(end)
    return theirs


def start() -> None:
    """Start the watchdog, unless it runs; before the first process, which this one might not outlive."""
    with contextlib.suppress(OSError):
        _pipe()


def guard(group: int) -> None:
    """Have a process group killed when this process dies."""
    _say(f"+{group}\n")


def release(group: int) -> None:
    """Forget a process group: it has been killed."""
    _say(f"-{group}\n")


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # the watchdog itself has been killed: then there is none
        os.write(_pipe(), line.encode())
