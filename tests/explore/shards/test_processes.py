"""Calls to shards in other processes."""

from __future__ import annotations

import gc
import multiprocessing
import threading
from multiprocessing.connection import Connection

import pytest

from explore.shards.test_sharded import RACE
from kontend.executors.processes import default_method
from kontend.explore.model.model import Model
from kontend.explore.search.expander import Expander
from kontend.explore.shards import processes
from kontend.explore.shards.processes import Processes, _Process
from kontend.explore.shards.spec import ShardSpec

_LONG = bytes(1 << 20)


def _respond(pipe: Connection, count: int) -> None:
    """Answer each call with a long result, and read the next one only after that."""
    for _ in range(count):
        method, _arguments = pipe.recv()
        pipe.send((method, _LONG))


def test_long_calls_and_long_results_do_not_wait_for_each_other() -> None:
    ours, theirs = multiprocessing.Pipe()
    threading.Thread(target=_respond, args=(theirs, 4), daemon=True).start()
    results: list[str] = []

    def call() -> None:
        shard = _Process(None, ours)
        calls = [shard.call(name, _LONG) for name in "abcd"]
        results.extend(pending.result()[0] for pending in calls)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    caller.join(timeout=120)
    assert results == list("abcd")


@pytest.mark.skipif(default_method() != "fork", reason="the shard is another one in forked processes only")
def test_a_shard_looks_for_garbage_less_often_than_the_process_that_has_started_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shard:
        def __init__(self, expander: Expander) -> None:
            """Stand for a shard."""

        def threshold(self) -> int:
            return gc.get_threshold()[0]

    monkeypatch.setattr(processes, "Shard", Shard)
    engine, before = Processes("fork"), gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        shard = engine.start(ShardSpec.of(Expander(Model(RACE))))
        try:
            assert shard.call("threshold").result() > 50 * 700
        finally:
            shard.stop()
            engine.close()
        assert gc.get_threshold() == (700, 10, 10)
    finally:
        gc.set_threshold(*before)
