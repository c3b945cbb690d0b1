"""One process of a controller: started with a kubeconfig of its own, killed with everything it has started."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kontend.live.process import processes, watchdog
from kontend.live.process.command import Command, Ports
from kontend.live.process.processes import MARK, Usage, kill_marked

#: The output that is kept of a process: its beginning and its end.
_HEAD: Final = 64 * 1024
_TAIL: Final = 256 * 1024
#: The same where it is the stacks of a process.
_STACKS: Final = 16 << 20
_CHUNK: Final = 1 << 20
#: Seconds between two searches for the members of a session among all processes; children are looked for always.
_COUNT_EVERY: Final = 1.0
#: A process that was killed ends once it gets a processor: how often and after how many seconds that is looked at.
_ATTEMPTS: Final = 500
_SOON: Final = 0.01


class CannotStart(Exception):
    """A command that cannot be run; the message says why."""


class Output:
    """The output of a process: its beginning, its end, and how much there was."""

    def __init__(self) -> None:
        #: The bytes of the end that are kept.
        self.kept = _TAIL
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        """Take over some output."""
        self.size += len(data)
        room = _HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self.kept:
            del self._tail[: -self.kept]

    def text(self) -> str:
        """Return the output; the middle may be missing."""
        kept = len(self._head) + len(self._tail)
        gap = f"\n... {self.size - kept:,} bytes left out ...\n".encode() if self.size > kept else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace")

    def last_lines(self, count: int = 15) -> str:
        """Return the end of the output."""
        end = bytes((self._head + self._tail)[-16_384:]).decode(errors="replace")
        return "\n".join(end.splitlines()[-count:])


class Process:
    """A running controller."""

    def __init__(self, name: str, started: asyncio.subprocess.Process, mark: str, reader: int, ports: Ports) -> None:
        self.name = name
        self.ports = ports
        self._started = started
        self._mark = mark
        self._reader = reader
        self.output = Output()
        self.killed = False
        #: The processes that belong to it, with the time of their start: also those that have left its session.
        self._members: dict[int, int] = {}
        self._counted = 0.0
        self._waiter = asyncio.get_running_loop().create_task(started.wait())
        asyncio.get_running_loop().add_reader(reader, self._read)
        watchdog.guard(started.pid)

    @classmethod
    async def start(
        cls,
        name: str,
        command: Command,
        kubeconfig: Path,
        *,
        launcher: Sequence[str] = (),
        pod: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a process; raises :class:`CannotStart`.

        ``launcher`` is a command that becomes this one, ``pod`` the environment of the pod that it is to see.
        """
        watchdog.start()
        mark, ports = f"{watchdog.PREFIX}-{secrets.token_hex(8)}", Ports()
        given = {variable: ports.fill(value) for variable, value in command.environment.items()}
        environment = {**os.environ, **given, "KUBECONFIG": str(kubeconfig), MARK: mark}
        # A proxy would come between the process and the gate.
        environment |= {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        for inside in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            environment.pop(inside, None)
        environment = {**environment, **(pod or {}), **given}
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        _enlarge(writer)
        arguments = [ports.fill(argument) for argument in command.arguments]
        try:
            started = await asyncio.create_subprocess_exec(
                *launcher,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                env=environment,
                cwd=command.directory,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reader)
            raise CannotStart(f"{arguments[0]}: {error.strerror or error}") from None
        finally:
            os.close(writer)
        return cls(name, started, mark, reader, ports)

    def _read(self) -> None:
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.output.add(data)
        else:
            self._close()

    def _close(self) -> None:
        if self._reader >= 0:
            asyncio.get_running_loop().remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1

    @property
    def code(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._started.returncode

    @property
    def exited(self) -> bool:
        """Return whether it has ended by itself."""
        return self._started.returncode is not None and not self.killed

    def usage(self) -> Usage:
        """Return the processor time of the process and its children so far."""
        self._find_members()
        return processes.usage(list(self._members))

    def listening(self) -> frozenset[int]:
        """Return the ports on which the process and its children wait for connections."""
        self._find_members()
        return processes.listening(self._members)

    def _find_members(self) -> None:
        session: list[int] = []
        now = asyncio.get_running_loop().time()
        if now - self._counted > _COUNT_EVERY:
            # A child in a session of its own stays a member after its parent has ended.
            self._counted, self._members = now, processes.alive(self._members)
            session = processes.in_session(self._started.pid)
        members = processes.with_children([self._started.pid, *session, *self._members])
        self._members = {pid: self._members.get(pid) or processes.start_of(pid) for pid in members}

    async def wait(self, seconds: float) -> None:
        """Wait for its end, for some time at most."""
        await asyncio.wait([self._waiter], timeout=seconds)

    def kill_now(self) -> None:
        """Kill the process and everything that it has started, without waiting."""
        self.killed = True
        self._send(signal.SIGSTOP)  # a stopped process starts no more children
        self._send(signal.SIGKILL)

    def ask(self) -> None:
        """Ask the process for its stacks (SIGQUIT): Go prints those of all goroutines, and ends."""
        self.output.kept = _STACKS
        self._send(signal.SIGQUIT)

    def pause(self) -> None:
        """Stop the process and everything that it has started (SIGSTOP)."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the process group, and to the members that have left it."""
        self._find_members()
        with contextlib.suppress(OSError):
            os.killpg(self._started.pid, number)
        processes.send(number, processes.alive(self._members))

    async def kill(self) -> None:
        """Kill the process and everything that it has started, and wait for its end."""
        self.kill_now()
        await self._waiter
        for _ in range(_ATTEMPTS):
            if not kill_marked(self._mark) and not processes.alive(self._members):
                break
            await asyncio.sleep(_SOON)
        watchdog.release(self._started.pid)
        while self._reader >= 0:  # what it wrote before it was killed
            before = self.output.size
            self._read()
            if self.output.size == before:
                self._close()


def _enlarge(pipe: int) -> None:
    """Let a pipe hold as much as is read at once: a process that writes much waits for us less often."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # there is a limit for all pipes of a user
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)
