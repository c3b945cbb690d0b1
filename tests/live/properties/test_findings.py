"""Calls that fail again and again."""

from __future__ import annotations

from itertools import accumulate

import pytest

from kontend import Cluster
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import failing_calls
from kontend.live.runs.outcome import Run

BURST = [0.0, 0.001, 0.03, 0.01, 0.02, 0.001]
BACKOFF = [0.0, 0.05, 0.1, 0.2, 0.4]


def failed(verb: str, code: int, gaps: list[float], *, of: str = "configmaps", part: str = "") -> Run:
    """A run that has ended with attempts at a call, so many seconds one after the other."""
    call, log, state = Call(verb, of, "default", "c", part), Log(), Cluster().state
    for number, arrived in enumerate(accumulate(gaps), start=1):
        log.add(Request(number, "controller", call, arrived, 1, Key("default", "c"), code=code))
    return Run(Plan(()), log, Rest.IDLE, state, state)


@pytest.mark.parametrize(
    ("verb", "code", "gaps", "fails"),
    [
        pytest.param("create", 409, BURST, False, id="creates an object to be sure that it is there"),
        pytest.param("create", 409, BACKOFF, True, id="takes an object that is there for an error"),
        pytest.param("create", 422, BURST, True, id="creates an invalid object"),
        pytest.param("update", 409, BURST, True, id="does not read before it tries again"),
        pytest.param("update", 409, BACKOFF[:3], False, id="has tried three times only"),
        pytest.param("get", 404, BACKOFF, False, id="looks for an object that is not there"),
    ],
)
def test_failures_in_a_row(verb: str, code: int, gaps: list[float], fails: bool) -> None:
    assert bool(failing_calls(failed(verb, code, gaps))) == fails


@pytest.mark.parametrize(("verb", "part"), [("get", "log"), ("create", "exec"), ("get", "proxy/metrics")])
def test_what_nothing_in_a_pod_answers_is_no_failure_of_the_controller(verb: str, part: str) -> None:
    run = failed(verb, 400, BACKOFF, of="pods", part=part)
    assert not failing_calls(run)
