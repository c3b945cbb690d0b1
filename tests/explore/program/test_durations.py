"""Durations: runs that are compared see other ones, so that nothing can depend on them."""

from __future__ import annotations

import time
from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import Any

import pytest

from explore.program.writers import Writes, explored, nondeterminism


def waits_until() -> str:
    begun = time.monotonic()
    return "late" if time.monotonic() - begun > 60 else "soon"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (lambda: time.monotonic() > 0, "time.monotonic()"),
        (lambda: monotonic() > 0, "time.monotonic()"),
        (lambda: time.perf_counter() < 0, "time.perf_counter()"),
        (lambda: perf_counter_ns() > 0, "time.perf_counter_ns()"),
        (lambda: time.process_time() >= 0, "time.process_time()"),
        (waits_until, "time.monotonic()"),
    ],
)
def test_a_reconcile_that_depends_on_a_duration_is_an_error_though_two_runs_agree(
    value: Callable[[], Any], named: str
) -> None:
    message = nondeterminism(Writes(value))
    assert f"calls {named}; a duration may be logged, but nothing may depend on it" in message


def test_a_duration_that_nothing_depends_on_is_allowed() -> None:
    def measured() -> str:
        begun = time.monotonic()
        return f"done{'' if begun is None else '!'}"

    assert explored(Writes(measured)).ok


def test_the_clocks_are_those_of_this_machine_again_after_a_search() -> None:
    clock = time.monotonic
    explored(Writes(lambda: f"{time.monotonic.__name__ != ''}"))
    assert time.monotonic is clock
    assert monotonic() > 0
