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
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_PROC: Final = "/proc"
#: Seconds after which the watchdog looks for processes again: one that was being started had no mark before.
_LOOK_AGAIN: Final = (0.1, 0.5)
#: The last line that the watchdog reads of a process that ends in order.
ENDS: Final = "end\n"
#: The environment variable by which the processes of a run are found, also those that have left its process group.
MARK: Final = "KONTEND_LIVE_RUN"
#: The state of a socket that waits for connections.
_LISTENS: Final = "0A"
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


@dataclass(frozen=True, slots=True)
class Usage:
    """The processor time of some processes so far and the time they waited for a processor, in seconds.

    ``running`` says that one of them runs or waits for a processor now; ``slices`` counts how often a thread has run.
    """

    seconds: float = 0.0
    waited: float = 0.0
    running: bool = False
    slices: int = 0


def marked(mark: str) -> list[int]:
    """Return the processes whose environment has a mark that begins so, children and grandchildren included."""
    wanted = f"{MARK}={mark}".encode()
    return [
        pid
        for pid in _all()
        if any(variable.startswith(wanted) for variable in _bytes(f"{_PROC}/{pid}/environ").split(b"\0"))
    ]


def in_session(leader: int) -> list[int]:
    """Return the processes of the session that a process leads."""
    members = []
    for pid in _all():
        with contextlib.suppress(OSError):  # it has ended
            if os.getsid(pid) == leader:
                members.append(pid)
    return members


def _all() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return []


def with_children(pids: list[int]) -> list[int]:
    """Return processes and their descendants, as far as the kernel lists children; cheaper than a look at all."""
    known = dict.fromkeys(pids)
    rest = list(pids)
    while rest:
        pid = rest.pop()
        for thread in _threads(pid):
            for child in map(int, _read(f"{thread}/children").split()):
                if child not in known:
                    known[child] = None
                    rest.append(child)
    return list(known)


def alive(known: Mapping[int, int]) -> dict[int, int]:
    """Return the processes that still run, of some that are known with the time of their start.

    A number that the system has given to another process since does not count.
    """
    return {pid: start for pid, start in known.items() if start and start_of(pid) == start}


def start_of(pid: int) -> int:
    """Return the time at which a process was started, in the kernel's ticks; 0 for one that has ended."""
    fields = _read(f"{_PROC}/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if fields[:1] not in ([], ["Z"], ["X"]) else 0


def age() -> float:
    """Return the seconds since this process was started; 0 where the system does not show it."""
    started = start_of(os.getpid())
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started * _TICK) if started else 0.0


def _threads(pid: int) -> list[str]:
    task = f"{_PROC}/{pid}/task"
    try:
        return [f"{task}/{name}" for name in os.listdir(task)]
    except OSError:
        return []


def _read(path: str) -> str:
    return _bytes(path).decode(errors="replace")


def _bytes(path: str) -> bytes:
    """Return the content of a file of the kernel's; empty for one that is gone, or of somebody else's process."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def usage(pids: list[int]) -> Usage:
    """Return the processor time of processes; a thread that waits for a processor counts as running."""
    total, waited, running, slices = 0.0, 0.0, False, 0
    for pid in pids:
        for thread in _threads(pid):
            # The name of the program is in parentheses and may contain anything.
            fields = _read(f"{thread}/stat").rpartition(")")[2].split()
            if not fields:
                continue  # it has ended
            ran, delayed, times, *_ = [*map(int, _read(f"{thread}/schedstat").split()), 0, 0, 0]
            running = running or fields[0] in "RD"
            total += ran / 1e9 or (int(fields[11]) + int(fields[12])) * _TICK
            waited += delayed / 1e9
            slices += times
    return Usage(total, waited, running, slices)


def listening(pids: Iterable[int]) -> frozenset[int]:
    """Return the TCP ports on which processes wait for connections."""
    ports = set()
    for pid in pids:
        own = set()
        with contextlib.suppress(OSError):  # it has ended
            for name in os.listdir(f"{_PROC}/{pid}/fd"):
                with contextlib.suppress(OSError):
                    own.add(os.readlink(f"{_PROC}/{pid}/fd/{name}"))
        for table in ("tcp", "tcp6"):
            for line in _read(f"{_PROC}/{pid}/net/{table}").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and f"socket:[{fields[9]}]" in own:
                    ports.add(int(fields[1].rpartition(":")[2], 16))
    return frozenset(ports)


def kill_marked(mark: str) -> list[int]:
    """Kill all processes with a mark, and return them."""
    killed: list[int] = []
    for _ in range(10):  # a process that forks while it is killed leaves children for the next round
        pids = [pid for pid in marked(mark) if start_of(pid)]
        if not pids:
            break
        send(signal.SIGKILL, pids)
        killed += pids
    return killed


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to processes; some may have ended."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def can_see_processes() -> bool:
    """Return whether this system shows the processor time of processes."""
    return os.path.isdir(f"{_PROC}/self/task")


def watch(prefix: str) -> None:
    """Wait for the end of standard input, whose writer has died then, and kill what it has left behind.

    Each line is a process group, ``+`` when it has been started and ``-`` when it has been killed; or :data:`ENDS`, if
    the writer comes to its end in order and starts nothing any more.
    """
    groups: set[int] = set()
    delays: tuple[float, ...] = _LOOK_AGAIN
    for line in sys.stdin:
        if line == ENDS:
            delays = ()
            continue
        change, group = line[:1], int(line[1:])
        groups = groups | {group} if change == "+" else groups - {group}
    # Also those that have left their group and have no mark; and a group that was not announced yet has marks.
    descendants = with_children([*groups, *marked(prefix)])
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    send(signal.SIGKILL, descendants)
    kill_marked(prefix)
    for delay in delays:
        time.sleep(delay)
        send(signal.SIGKILL, with_children(marked(prefix)))
        kill_marked(prefix)


if __name__ == "__main__":
    watch(sys.argv[1])
