"""Shards in processes of this machine: forked ones, or new ones where there is no fork."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import signal
from collections import deque
from multiprocessing.connection import Connection
from typing import Any, Literal

from kontend.explore.problems import BadScenario
from kontend.explore.shards.engine import LostShard
from kontend.explore.shards.shard import Shard
from kontend.explore.shards.spec import ShardSpec

Method = Literal["fork", "spawn"]


def default_method() -> Method:
    """Forking where the system can: the new process knows all that this one has learnt."""
    return "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"


class _Result:
    """The result of a call, which comes after those of all calls before."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    def result(self) -> Any:
        """Wait for the result."""
        return self._process.received(self)


class _Process:
    """A shard in a process."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.process = process
        self._pipe = pipe
        self._pending: deque[_Result] = deque()

    def call(self, method: str, *arguments: Any) -> _Result:
        """Call a method of the shard."""
        try:
            self._pipe.send((method, arguments))
        except OSError:
            raise LostShard from None
        result = _Result(self)
        self._pending.append(result)
        return result

    def received(self, result: _Result) -> Any:
        """The next result, which must be that of the oldest call."""
        assert self._pending[0] is result
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            raise LostShard from None
        self._pending.popleft()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        """End the process."""
        self._pipe.close()
        self.process.terminate()
        self.process.join()


class Processes:
    """Starts shards in processes."""

    #: Few enough for the calls to fit into the buffer of a pipe: a shard that waits to send its result must not keep
    #: the search from sending.
    window = 4

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
    try:
        shard = Shard(spec.make())
        while True:
            method, arguments = pipe.recv()
            pipe.send(getattr(shard, method)(*arguments))
    except (EOFError, OSError):
        return
    except BaseException as error:
        pipe.send(error)
