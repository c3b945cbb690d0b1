"""One controller in a manager: the follow-up of a reconcile, its log lines and its metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from kontend.kube.errors import Conflict, InternalError
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.manager.controller_loop import Loop, Outcome
from kontend.runtime.telemetry.metrics import Metrics
from runtime.samples import CONFIG_MAP, cluster
from runtime.wire import run, wired

A = Request("default", "a")


class Scripted(Controller):
    """Does what the next entry of a script says: returns it, raises it, or calls it."""

    kind = CONFIG_MAP

    def __init__(self, *script: Any) -> None:
        self.script = list(script)

    async def reconcile(self, request: Request, api: Api) -> Result | None:  # noqa: ARG002 - part of the interface
        entry = self.script.pop(0)
        if isinstance(entry, Exception):
            raise entry
        result: Result | None = entry() if callable(entry) else entry
        return result


class Bench:
    """A loop on a clock moved by hand."""

    def __init__(self, *script: Any) -> None:
        self.now = 0.0
        self.metrics = Metrics()
        api, _ = wired(cluster())
        self.loop = Loop(Scripted(*script), api, lambda: self.now, self.metrics)
        self.loop.queue.add(A)

    def step(self) -> Outcome:
        request = self.loop.queue.take()
        assert request == A
        return run(self.loop.run(request))

    def due(self) -> float | None:
        """Seconds until the request runs again; 0 when it is ready, None when it is not queued."""
        if len(self.loop.queue):
            return 0.0
        due = self.loop.queue.next_due()
        return None if due is None else round(due - self.now, 6)

    def advance(self) -> None:
        due = self.loop.queue.next_due()
        assert due is not None
        self.now = due


@pytest.mark.parametrize(
    ("entry", "due", "result"),
    [
        (None, None, "success"),
        (Result(), None, "success"),
        (Result(requeue_after=30), 30.0, "requeue_after"),
        (Result(requeue_after=0), 0.0, "requeue_after"),
        (Result(requeue=True), 0.005, "requeue"),
        (Result(requeue=True, requeue_after=30), 30.0, "requeue_after"),
        (ValueError("no"), 0.005, "error"),
    ],
)
def test_the_result_decides_when_the_request_runs_again(entry: Any, due: float | None, result: str) -> None:
    bench = Bench(entry)
    bench.step()
    assert bench.due() == due
    assert bench.metrics.reconciles.get(controller="scripted", result=result) == 1
    assert bench.metrics.reconciles.values.keys() == {(("controller", "scripted"), ("result", result))}
    assert bench.metrics.errors.get(controller="scripted") == (1 if result == "error" else 0)


@pytest.mark.parametrize("success", [None, Result(requeue_after=0)])
def test_a_success_starts_the_backoff_again(success: Any) -> None:
    bench = Bench(ValueError("one"), ValueError("two"), success, ValueError("three"))
    delays = []
    for _ in range(4):
        bench.step()
        delays.append(bench.due())
        if delays[-1] is None:
            bench.loop.queue.add(A)
        elif delays[-1]:
            bench.advance()
    assert delays == [0.005, 0.01, delays[2], 0.005]


def test_the_metrics_of_a_reconcile() -> None:
    active: list[float] = []
    bench = Bench()
    script = [lambda: active.append(bench.metrics.active.get(controller="scripted")), ValueError("no")]
    bench.loop.controller = Scripted(*script)
    bench.step()
    bench.loop.queue.add(A)
    bench.step()
    assert active == [1]
    assert bench.metrics.active.get(controller="scripted") == 0
    text = bench.metrics.text()
    assert 'controller_runtime_reconcile_time_seconds_count{controller="scripted"} 2' in text
    assert 'workqueue_adds_total{name="scripted"} 2' in text
    assert 'workqueue_retries_total{name="scripted"} 1' in text
    assert 'workqueue_depth{name="scripted"} 0' in text


@pytest.mark.parametrize(
    ("error", "level", "words", "with_traceback"),
    [
        (Conflict("modified"), logging.INFO, "met a conflict and will run again", False),
        (InternalError("no space"), logging.ERROR, "failed: no space", False),
        (KeyError("spec"), logging.ERROR, "failed: 'spec'", True),
    ],
)
def test_an_error_is_logged_with_the_request_and_a_traceback_if_it_is_pythons(
    caplog: pytest.LogCaptureFixture, error: Exception, level: int, words: str, with_traceback: bool
) -> None:
    with caplog.at_level(logging.INFO, "kontend"):
        outcome = Bench(error).step()
    assert outcome.error is error
    (record,) = caplog.records
    assert record.levelno == level
    assert record.getMessage().startswith("reconcile of scripted default/a ")
    assert words in record.getMessage()
    assert bool(record.exc_info) == with_traceback
    fields: dict[str, Any] = record.fields  # type: ignore[attr-defined]
    assert fields == {
        "controller": "scripted",
        "request": "default/a",
        "error": str(error),
        "error_type": type(error).__name__,
        "retry_in": 0.005,
    }


@pytest.mark.parametrize("wrong", [True, 5, {"requeue": True}])
def test_a_wrong_result_is_an_error_of_the_reconcile(wrong: Any) -> None:
    give: Callable[[], Any] = lambda: wrong  # noqa: E731 - a script entry that is called
    outcome = Bench(give).step()
    assert str(outcome.error) == f"Scripted.reconcile: expected a Result or None, found {wrong!r}"
