"""Processes as the operating system shows them: members of a group, processor time, who is running.

On Linux everything comes from ``/proc``. Elsewhere there is nothing to read: a process counts as idle when it makes no
requests, and only its own process group can be killed.

Run as a file, it is the watchdog of :mod:`kontend.live.process.watchdog`; so it imports nothing of this package.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
#: The environment variable by which the processes of a run are found, also those that have left its process group.
MARK: Final = "KONTEND_LIVE_RUN"
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


@dataclass(frozen=True, slots=True)
class Usage:
    """The processor time of some processes so far, in seconds, and whether one of them wants to run now."""

    seconds: float = 0.0
    running: bool = False


def marked(mark: str) -> list[int]:
    """Return the processes whose environment has a mark that begins so, children and grandchildren included."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in _entries():
        try:
            if any(each.startswith(wanted) for each in (entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return found


def _entries() -> list[Path]:
    try:
        return [entry for entry in _PROC.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []


def in_session(leader: int) -> list[int]:
    """Return the processes of the session that a process leads."""
    found = []
    for entry in _entries():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            found.append(int(entry.name))
    return found


def usage(pids: list[int]) -> Usage:
    """Return the processor time of processes; a thread that waits for a processor counts as running."""
    total, running = 0.0, False
    for pid in pids:
        try:
            threads = list((_PROC / str(pid) / "task").iterdir())
        except OSError:
            continue
        for thread in threads:
            try:
                # The name of the program is in parentheses and may contain anything.
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                nanoseconds = (thread / "schedstat").read_text().split()[0]
            except OSError:
                continue
            running = running or fields[0] in "RD"
            total += int(nanoseconds) / 1e9 or (int(fields[11]) + int(fields[12])) * _TICK
    return Usage(total, running)


def kill_marked(mark: str) -> list[int]:
    """Kill all processes with a mark, and return them."""
    killed: list[int] = []
    for _ in range(10):  # a process that forks while it is killed leaves children for the next round
        found = [pid for pid in marked(mark) if not _is_zombie(pid)]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        killed += found
    return killed


def _is_zombie(pid: int) -> bool:
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def can_see_processes() -> bool:
    """Return whether this system shows the processor time of processes."""
    return (_PROC / "self" / "task").is_dir()


def watch(prefix: str) -> None:
    """Wait for the end of standard input, whose writer has died then, and kill what it has left behind.

    Each line is a process group, ``+`` when it has been started and ``-`` when it has been killed.
    """
    groups: set[int] = set()
    for line in sys.stdin:
        change, group = line[:1], int(line[1:])
        groups = groups | {group} if change == "+" else groups - {group}
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    kill_marked(prefix)


if __name__ == "__main__":
    watch(sys.argv[1])
