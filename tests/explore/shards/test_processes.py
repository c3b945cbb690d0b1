"""Calls to shards in other processes."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection

from kontend.explore.shards.processes import _Process

_LONG = bytes(1 << 20)


def _respond(pipe: Connection, count: int) -> None:
    """Answer each call with a long result, and read the next one only after that."""
    for _ in range(count):
        method, _arguments = pipe.recv()
        pipe.send((method, _LONG))


def test_long_calls_and_long_results_do_not_wait_for_each_other() -> None:
    ours, theirs = multiprocessing.Pipe()
    threading.Thread(target=_respond, args=(theirs, 4), daemon=True).start()
    found: list[str] = []

    def call() -> None:
        shard = _Process(None, ours)
        calls = [shard.call(name, _LONG) for name in "abcd"]
        found.extend(pending.result()[0] for pending in calls)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    caller.join(timeout=120)
    assert found == list("abcd")
