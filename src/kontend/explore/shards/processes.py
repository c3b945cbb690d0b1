"""Shards in processes of this machine: forked ones, or new ones where there is no fork."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import socket
from collections import deque
from multiprocessing.connection import Connection
from typing import Any, Final

from kontend.executors.processes import Method, default_method
from kontend.explore.problems import BadScenario
from kontend.explore.shards.engine import LostShard
from kontend.explore.shards.shard import Shard, collect_seldom
from kontend.explore.shards.spec import ShardSpec

#: The bytes that the buffer of a pipe shall hold, and that any does.
_BUFFER: Final = 1 << 18
_LEAST_ROOM: Final = 1 << 12


class _Result:
    """The result of a call, which comes after those of all calls before."""

    def __init__(self, process: _Process, size: int) -> None:
        self._process = process
        #: The bytes of the call.
        self.size = size
        #: The result, once it has come.
        self.come: tuple[Any] | None = None

    def result(self) -> Any:
        """Wait for the result."""
        while self.come is None:
            self._process.receive()
        answer = self.come[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class _Process:
    """A shard in a process."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.process = process
        self._pipe = pipe
        self._room = _room(pipe)
        #: The calls without a result, and their bytes.
        self._pending: deque[_Result] = deque()
        self._unread = 0

    def call(self, method: str, *arguments: Any) -> _Result:
        """Call a method of the shard."""
        message = pickle.dumps((method, arguments), pickle.HIGHEST_PROTOCOL)
        # A call that does not fit into the buffer of the pipe must not meet a result that does not, each waiting for
        # the other to be read.
        while self._pending and self._unread + len(message) > self._room:
            self.receive()
        try:
            self._pipe.send_bytes(message)
        except OSError:
            raise LostShard from None
        result = _Result(self, len(message))
        self._pending.append(result)
        self._unread += len(message)
        return result

    def receive(self) -> None:
        """Wait for the next result, which is that of the oldest call."""
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            raise LostShard from None
        result = self._pending.popleft()
        self._unread -= result.size
        result.come = (answer,)

    def stop(self) -> None:
        """End the process."""
        self._pipe.close()
        self.process.terminate()
        self.process.join()


class Processes:
    """Starts shards in processes."""

    window = 16

    def __init__(self, method: Method | None = None) -> None:
        self._method: Method = method or default_method()
        self._pipes: list[Connection] = []
        #: The processes that were started.
        self.processes: list[Any] = []

    def start(self, spec: ShardSpec) -> _Process:
        """Start a shard in a process of its own."""
        context: Any = multiprocessing.get_context(self._method)
        ours, theirs = context.Pipe()
        if self._method == "fork":
            arguments: tuple[Any, ...] = (theirs, spec, [*self._pipes, ours])
            gc.freeze()  # a collection in the new process must not touch, and so copy, all that it shares
        else:
            arguments = (theirs, _sendable(spec), [])
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        self._pipes.append(ours)
        self.processes.append(process)
        return _Process(process, ours)

    def close(self) -> None:
        """Release the memory that forked processes shared."""
        gc.unfreeze()


def _room(pipe: Connection) -> int:
    """The bytes that the buffer of a pipe surely holds, after it was made large where the system can."""
    if isinstance(pipe, Connection) and hasattr(socket, "AF_UNIX"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(pipe.fileno())) as end:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            return end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 4  # the system counts its own data, too
    return _LEAST_ROOM


def _sendable(spec: ShardSpec) -> ShardSpec:
    """A spec that another process can read: the scenario itself, or its file and name."""
    portable = spec.portable()
    try:
        pickle.dumps(portable)
    except Exception as error:
        if spec.source is None:
            raise BadScenario(
                f"jobs: the scenario cannot be sent to another process ({error}); define it, its controllers and its "
                "functions at the top level of a module"
            ) from None
        return portable.from_source()
    return portable


def _work(pipe: Connection, spec: ShardSpec, others: list[Connection]) -> None:
    """Carry out the calls of the search until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides when to stop
    for other in others:
        other.close()
    collect_seldom()
    try:
        shard = Shard(spec.make())
        while True:
            method, arguments = pipe.recv()
            pipe.send(getattr(shard, method)(*arguments))
    except (EOFError, OSError):
        return
    except BaseException as error:
        pipe.send(error)
