"""A process of a Go test that runs reconciles, call by call.

It gets one message at a time and replies when all goroutines of the run wait. Processes are not shared between
processes of ours: one that is forked starts its own at its first message, so that it also knows nothing of the runs
before.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.explore.problems import BadScenario
from kontend.explore.program.event_loop import Unsupported
from kontend.runtime.source_location import UNKNOWN, SourceLocation

#: Seconds without a reply after which a process is given up. It gives up a run after 20 seconds itself.
_PATIENCE: Final = 60
#: The end of the output that is kept, for messages.
_KEPT: Final = 16_000
#: The memory of controllers that declare none.
NO_MEMORY: Final = b"{}"
#: The lines of output that a message shows.
_SHOWN: Final = 30


class GoProblem(Unsupported):
    """Something in Go code that cannot be explored; the message names the place."""


class GoEnded(GoProblem):
    """The process has ended by itself."""


@dataclass(frozen=True, slots=True)
class GoTest:
    """A test that calls ``kontend.Explore``: its binary, and the module that is explored."""

    binary: Path
    #: The directory of the package, in which its tests run.
    directory: Path
    module: str
    name: str


class UndefinedKind(Exception):
    """A kind that the manager needs and no definition serves."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class GoProcess:
    """Starts the process of a test when it is needed, and exchanges messages with it."""

    def __init__(self, test: GoTest, resources: Sequence[Mapping[str, Any]]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.test = test
        self._resources = list(resources)
        #: The declared memory of a process that has just started.
        self.memory = _json(None)
        #: What is outside of the cluster, with its state at the start.
        self.externals: dict[str, Any] = {}
        #: The names of those whose fakes are in Python.
        self.without_fakes: list[str] = []
        self._owner = 0
        self._ids = count(1)
        self._generation = 0
        self._replies = b""
        self._output = b""
        self._to = self._from = self._log = -1
        _processes.add(self)

    def hello(self) -> list[dict[str, Any]]:
        """Start the process; returns its controllers. Raises :class:`UndefinedKind`."""
        self._start()
        reply = self._exchange({"op": "hello", "module": self.test.module, "resources": self._resources})
        controllers: list[dict[str, Any]] = reply.get("controllers") or []
        self.memory = _json(reply.get("memory"))
        externals = reply.get("externals") or ()
        self.externals = {external["name"]: external["state"] for external in externals}
        self.without_fakes = [external["name"] for external in externals if external.get("elsewhere")]
        return controllers

    def next_id(self) -> tuple[int, int]:
        """The number for a new run, and that of the process in which it is."""
        self._ensure()
        return next(self._ids), self._generation

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a message."""
        self._ensure()
        return self._exchange(message)

    def has(self, generation: int) -> bool:
        """The process with this number still is."""
        return self._process is not None and self._owner == os.getpid() and self._generation == generation

    def forget(self, id: int, generation: int) -> None:
        """End a run, if its process still is."""
        if self.has(generation):
            self._exchange({"op": "close", "id": id})

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        for fd in (self._to, self._from, self._log):
            os.close(fd)
        if self._owner == os.getpid():
            process.kill()
            process.wait()
        else:  # of the process that has forked this one
            process.returncode = 0

    def __del__(self) -> None:
        self.close()

    def _ensure(self) -> None:
        if self._owner != os.getpid():
            self.close()
        if self._process is None:
            self.hello()

    def _start(self) -> None:
        self.close()
        test = self.test
        messages, self._to = os.pipe()
        self._from, replies = os.pipe()
        self._log, output = os.pipe()
        command = [str(test.binary), f"-test.run=^{test.name}$", "-test.timeout=0", "-test.v=false"]
        go_debug = ",".join(filter(None, [os.environ.get("GODEBUG", ""), "asynctimerchan=0"]))
        environment = {
            **os.environ,
            "KONTEND_PIPES": f"{messages},{replies}",
            # One thread of Go code: what goroutines do between two calls then depends less on the machine.
            "GOMAXPROCS": "1",
            "GODEBUG": go_debug,
            "GOTRACEBACK": "all",
        }
        try:
            self._process = subprocess.Popen(
                command,
                cwd=test.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(messages, replies),
            )
        except OSError as error:
            raise BadScenario(f"{test.binary}: the test does not start: {error.strerror}") from error
        finally:
            for fd in (messages, replies, output):
                os.close(fd)
        self._owner = os.getpid()
        self._generation += 1
        self._replies = self._output = b""

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._send(orjson.dumps(message) + b"\n")
        except BrokenPipeError:
            raise self._ended() from None
        reply: dict[str, Any] = orjson.loads(self._line())
        problem = reply.get("problem")
        if problem is not None:
            raise self._problem(problem)
        return reply

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._to, view) :]

    def _line(self) -> bytes:
        """The next reply. Output is read meanwhile, so that a process that writes much goes on."""
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        poll.register(self._log, select.POLLIN)
        while b"\n" not in self._replies:
            events = poll.poll(_PATIENCE * 1000)
            if not events:
                raise self._stuck()
            for fd, _ in events:
                data = os.read(fd, 1 << 20)
                if fd == self._log:
                    self._output = (self._output + data)[-_KEPT:]
                    if not data:
                        poll.unregister(fd)
                elif data:
                    self._replies += data
                else:
                    raise self._ended()
        line, _, self._replies = self._replies.partition(b"\n")
        return line

    def _ended(self) -> GoEnded:
        """The error for a process that has ended by itself."""
        assert self._process is not None
        process = self._process
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        with suppress(OSError):
            os.set_blocking(self._log, False)
            while data := os.read(self._log, 1 << 16):
                self._output = (self._output + data)[-_KEPT:]
        code = process.returncode
        self.close()
        how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        lines = self._output.decode(errors="replace").strip().splitlines()
        panics = next((at for at, line in enumerate(lines) if line.startswith(("panic:", "fatal error:"))), None)
        shown = lines[panics : panics + _SHOWN] if panics is not None else lines[-_SHOWN:]
        text = "".join(f"\n    {line}" for line in shown)
        hint = "" if panics is not None else "; does it call os.Exit?"
        return GoEnded(f"{self.test.name}: the Go process ended with {how} while a reconcile ran{hint}{text}")

    def _stuck(self) -> GoProblem:
        self.close()
        return GoProblem(f"{self.test.name}: the Go process has not answered for {_PATIENCE} s; does a loop never end?")

    def _problem(self, problem: Mapping[str, Any]) -> BaseException:
        kind, text = problem["kind"], problem["text"]
        if kind == "kind":
            return UndefinedKind(text)
        if kind == "setup":
            return BadScenario(f"{self.test.name}: the manager could not be set up: {text}")
        self.close()  # its goroutines cannot be ended
        line = location_of(problem)
        where = f"{line}: " if line != UNKNOWN else ""
        stack = "".join(f"\n    {line}" for line in str(problem.get("stack") or "").splitlines()[:_SHOWN])
        return GoProblem(f"{where}{_PROBLEMS.get(kind, '{}').format(text)}{stack}")


_PROBLEMS: Final = {
    "deadlock": "deadlock: all goroutines of the reconcile wait for each other",
    "goroutines": "the reconcile has returned, and goroutines that it started go on; it must wait for them",
    "outside": "the reconcile {}, which cannot be explored: it may only call the API server; give it a fake that is "
    "declared with kontend.External, or let connections fail with the option kontend.Offline()",
    "watch": "the reconcile starts to watch {}, which cannot be explored: watch it where the controller is set up",
    "stuck": "the reconcile neither makes a call nor waits for time to pass: an endless loop, a mutex that is never "
    "unlocked, or input and output of its own",
}


def location_of(written: Mapping[str, Any]) -> SourceLocation:
    """The line of source that a call or a problem carries."""
    return SourceLocation(written["file"], written["line"]) if written.get("file") else UNKNOWN


def _json(memory: Any) -> bytes:
    return NO_MEMORY if memory is None else orjson.dumps(memory, option=orjson.OPT_SORT_KEYS)


_processes: Final[weakref.WeakSet[GoProcess]] = weakref.WeakSet()


@atexit.register
def end_processes() -> None:
    """End all Go processes of this process."""
    for process in list(_processes):
        process.close()


if hasattr(os, "register_at_fork"):

    def _let_go() -> None:
        # A pipe that a child keeps open would keep the Go process alive, too.
        for process in list(_processes):
            process.close()

    os.register_at_fork(after_in_child=_let_go)
