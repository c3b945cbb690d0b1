"""Sessions with a pod: a command with its streams, a log, a forwarded port; each by an answer of the user's file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from kontend.live.pods.answers import PodAnswer, Question
from kontend.live.pods.channels import DATA, ERROR, STDERR, STDIN, STDOUT, Channel, outcome

_CHUNK: Final = 1 << 16
#: The exit code of a shell for a command that it does not find.
_NOT_FOUND: Final = 127


class Input:
    """Bytes of the client, in order; None is their end."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def add(self, data: bytes | None) -> None:
        """Take some bytes, or their end."""
        self._queue.put_nowait(data)

    async def copy(self, writer: asyncio.StreamWriter) -> None:
        """Pass all bytes on."""
        with contextlib.suppress(OSError):  # whoever reads may stop before the end
            while (data := await self._queue.get()) is not None:
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()


async def _copy(reader: asyncio.StreamReader, channel: Channel | None) -> None:
    while data := await reader.read(_CHUNK):
        if channel is not None:
            channel.send(data)


@asynccontextmanager
async def _running(answer: PodAnswer, question: Question, keep: Path) -> AsyncIterator[Process]:
    """Run the command of an answer; it ends, with all that it has started, at the end of the block."""
    namespace, _, name = question.pod.partition("/")
    environment = {
        **os.environ,
        "POD_NAMESPACE": namespace,
        "POD_NAME": name,
        "CONTAINER": question.container,
        "KONTEND_RUN": str(keep),
    }
    process = await asyncio.create_subprocess_exec(
        *answer.run,
        *question.command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=answer.directory,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def log_of(answer: PodAnswer, question: Question, keep: Path) -> str:
    """Return the text of a log."""
    if not answer.run:
        return answer.stdout
    async with _running(answer, question, keep) as process:
        written, _ = await process.communicate()
    return written.decode(errors="replace")


class Exec:
    """A command in a container: it begins when the client has opened its streams."""

    def __init__(
        self, answer: PodAnswer, question: Question, keep: Path, wanted: set[str], finished: Callable[[int], None]
    ) -> None:
        """``wanted`` are the streams that the client opens; ``finished`` gets the exit code."""
        self._answer = answer
        self._question = question
        self._keep = keep
        self._wanted = wanted | {ERROR}
        self._finished = finished
        self._channels: dict[str, Channel] = {}
        self._input = Input()
        self.task: asyncio.Task[int] | None = None
        self.hang_up: Callable[[], None] = lambda: None

    def opened(self, name: str, channel: Channel, headers: Mapping[str, str]) -> None:
        """Note a stream; with the last one the command begins."""
        del headers
        self._channels[name] = channel
        if self.task is None and self._wanted <= self._channels.keys():
            if STDIN not in self._wanted:
                self._input.add(None)
            self.task = asyncio.get_running_loop().create_task(self._work())
            # Not at the end of the work: a task that is cancelled before it has begun never gets there.
            self.task.add_done_callback(self._end)

    def received(self, channel: Channel, data: bytes) -> None:
        """Pass on what the command is to read."""
        if channel is self._channels.get(STDIN):
            self._input.add(data)

    def ended(self, channel: Channel) -> None:
        """Pass on that there is no more to read."""
        if channel is self._channels.get(STDIN):
            self._input.add(None)

    def lost(self) -> None:
        """End the command, or do not begin it: nobody waits for it."""
        if self.task is not None:
            self.task.cancel()
        else:
            self._finished(0)

    async def _work(self) -> int:
        code = await self._run()
        for name in (STDOUT, STDERR):
            if name in self._channels:
                self._channels[name].end()
        self._channels[ERROR].send(outcome(code))
        self._channels[ERROR].end()
        return code

    def _end(self, task: asyncio.Task[int]) -> None:
        self._finished(0 if task.cancelled() or task.exception() else task.result())
        self.hang_up()

    async def _run(self) -> int:
        stdout, stderr = self._channels.get(STDOUT), self._channels.get(STDERR)
        if not self._answer.run:
            for channel, text in ((stdout, self._answer.stdout), (stderr, self._answer.stderr)):
                if channel is not None and text:
                    channel.send(text.encode())
            return self._answer.code
        try:
            async with _running(self._answer, self._question, self._keep) as process:
                assert process.stdin is not None  # all three are pipes
                assert process.stdout is not None
                assert process.stderr is not None
                reading = asyncio.get_running_loop().create_task(self._input.copy(process.stdin))
                await asyncio.gather(_copy(process.stdout, stdout), _copy(process.stderr, stderr))
                reading.cancel()
                return await process.wait()
        except OSError as error:
            if stderr is not None:
                stderr.send(f"kontend: {self._answer.run[0]}: {error.strerror}\n".encode())
            return _NOT_FOUND


class Forward:
    """Forwarded ports: each connection has a stream for its data, and one for errors."""

    def __init__(self, find: Callable[[str], tuple[PodAnswer, Question] | None], keep: Path) -> None:
        """``find`` returns the answer for a port."""
        self._find = find
        self._keep = keep
        self._errors: dict[str, Channel] = {}
        self._inputs: dict[Channel, Input] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def opened(self, name: str, channel: Channel, headers: Mapping[str, str]) -> None:
        """Note a stream; one for data is a new connection to the port."""
        request = headers.get("requestid", "")
        if name == ERROR:
            self._errors[request] = channel
        elif name == DATA:
            self._inputs[channel] = Input()
            task = asyncio.get_running_loop().create_task(self._work(channel, headers.get("port", ""), request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def received(self, channel: Channel, data: bytes) -> None:
        """Pass on bytes to the port."""
        if channel in self._inputs:
            self._inputs[channel].add(data)

    def ended(self, channel: Channel) -> None:
        """Pass on that no more come."""
        if channel in self._inputs:
            self._inputs[channel].add(None)

    def lost(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()

    async def _work(self, channel: Channel, port: str, request: str) -> None:
        found, error = self._find(port), ""
        try:
            if found is None:
                error = f"nothing listens on port {port}: no answer of --pod-exec is about it"
            elif found[0].to is not None:
                reader, writer = await asyncio.open_connection(*found[0].to)
                try:
                    await self._join(channel, reader, writer)
                finally:
                    writer.close()
            else:
                async with _running(*found, self._keep) as process:
                    assert process.stdin is not None  # both are pipes
                    assert process.stdout is not None
                    await self._join(channel, process.stdout, process.stdin)
        except OSError as failure:
            error = f"cannot connect to port {port}: {failure.strerror or failure}"
        if error and request in self._errors:
            self._errors[request].send(error.encode())
        for each in (channel, self._errors.get(request)):
            if each is not None:
                each.end()

    async def _join(self, channel: Channel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reading = asyncio.get_running_loop().create_task(self._inputs[channel].copy(writer))
        try:
            await _copy(reader, channel)
        finally:
            reading.cancel()
