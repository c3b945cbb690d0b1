"""Tasks in processes of this machine, each in one of its own: the end of one does no harm to the others.

The output of a process goes to a file that nobody sees, unless the process ends before it has sent its result. A
process ends by itself when the one that has started it is gone, however it went.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Final, Literal

from kontend.executors.work import Ended, Watch, Work

Method = Literal["fork", "spawn"]
_OFTEN: Final = 0.2
#: Characters of the output of a process that are kept.
_TAIL: Final = 2_000
#: The seconds that a process gets to end by itself.
_GRACE: Final = 10.0


def default_method() -> Method:
    """Forking where the system can: the new process knows all that this one has learnt."""
    return "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"


@dataclass(slots=True)
class _Running:
    at: int
    process: Any
    pipe: Connection
    #: Held open for as long as the process may run.
    lifeline: Connection
    output: IO[bytes]
    deadline: float
    last: Any = None

    def tail(self) -> str:
        """Return the end of the output."""
        size = self.output.seek(0, os.SEEK_END)
        self.output.seek(max(0, size - _TAIL))
        return self.output.read().decode(errors="replace").strip()

    def end(self) -> None:
        """End the process and release what belongs to it."""
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(_GRACE)
            if self.process.is_alive():
                self.process.kill()
        self.process.join()
        for resource in (self.pipe, self.lifeline, self.output):
            resource.close()
        with suppress(OSError):  # the process has removed it already, unless it never began
            os.unlink(self.output.name)


class Processes:
    """Carries out tasks in processes."""

    def __init__(self, workers: int, method: Method, *, timeout: float | None = None) -> None:
        """Run ``workers`` processes at a time; one that takes longer than ``timeout`` seconds is ended."""
        self._workers = workers
        self._context = multiprocessing.get_context(method)
        self._timeout = timeout

    def run(self, work: Work, tasks: Sequence[Any], watch: Watch) -> Generator[tuple[int, Any], None, None]:
        """Yield the results of tasks as they come."""
        waiting = list(enumerate(tasks))[::-1]
        running: dict[Connection, _Running] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    at, task = waiting.pop()
                    started = self._start(work, at, task)
                    running[started.pipe] = started
                    watch.started(at)
                ready = wait(list(running), _OFTEN)
                for pipe in ready:
                    process = running[pipe]  # type: ignore[index]
                    ended, result = self._received(process, watch)
                    if ended:
                        del running[process.pipe]
                        process.end()
                        yield process.at, result
                for process in [process for process in running.values() if time.monotonic() > process.deadline]:
                    del running[process.pipe]
                    output = process.tail()
                    process.end()
                    message = f"it did not end within {self._timeout:g} seconds"
                    yield process.at, Ended(False, message, output, process.last, is_late=True)
                watch.tick()
        finally:
            for process in running.values():
                process.process.terminate()
            for process in running.values():
                process.end()

    def _start(self, work: Work, at: int, task: Any) -> _Running:
        ours, theirs = self._context.Pipe()
        held, lifeline = self._context.Pipe(duplex=False)
        output = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 (closed when the process has ended)
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_work,
            args=(work, task, theirs, held, output.name, self._context.get_start_method() == "fork"),
        )
        process.start()
        theirs.close()
        held.close()
        deadline = time.monotonic() + self._timeout if self._timeout is not None else float("inf")
        return _Running(at, process, ours, lifeline, output, deadline)

    def _received(self, running: _Running, watch: Watch) -> tuple[bool, Any]:
        """One message of a process: whether it is the last one, and the result."""
        try:
            kind, value = running.pipe.recv()
        except (EOFError, OSError):
            running.process.join(_GRACE)
            return True, Ended(False, _describe_exit(running.process.exitcode), running.tail(), running.last)
        if kind == "report":
            running.last = value
            watch.reported(running.at, value)
            return False, None
        if isinstance(value, Ended):
            value = value._replace(output=running.tail(), last=running.last)
        return True, value


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "its process has closed the connection"
    if code >= 0:
        return f"its process ended with exit code {code} before it had a result"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = "; is there too little memory? Fewer --jobs or the bound memory take less" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{hint}"


def _work(work: Work, task: Any, pipe: Connection, lifeline: Connection, output: str, is_forked: bool) -> None:
    """Carry out a task and send its result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that has started it decides when to stop
    if is_forked:
        # The pipes of other processes and the lock of the journal must not live on in this one.
        before = 3
        for kept in sorted((pipe.fileno(), lifeline.fileno())):
            os.closerange(before, kept)
            before = kept + 1
        os.closerange(before, os.sysconf("SC_OPEN_MAX"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), descriptor)
    # Not the streams of a forked process: they may hold what their process has not written yet.
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", errors="replace", closefd=False) for descriptor in (1, 2))
    faulthandler.disable()  # a test framework may have sent its output elsewhere
    with suppress(OSError):  # nothing is left if everything is killed
        os.unlink(output)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    reported = 0.0

    def report(value: Any) -> None:
        nonlocal reported
        now = time.monotonic()
        if isinstance(value, str) or now - reported > _OFTEN:
            reported = now
            pipe.send(("report", value))

    try:
        result: Any = work.carry_out(task, report)
    except work.refusals as error:
        result = Ended(True, str(error))
    except SystemExit as error:
        result = Ended(False, f"user code called sys.exit({error.code!r})")
    except BaseException as error:
        result = Ended(False, f"{type(error).__name__}: {error}")
        traceback.print_exc()
    with suppress(OSError):
        try:
            pipe.send(("result", result))
        except (TypeError, AttributeError, ValueError) as error:
            pipe.send(("result", Ended(False, f"its result cannot be sent: {error}")))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)  # threads of user code must not keep it alive


def _end_with(lifeline: Connection) -> None:
    """End this process and those that it has started when their parent is gone: nothing is ever sent."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
