"""Scenarios whose answers were wrong once: the explorer says what the oracle says."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest

from explore.oracle.comparison import WAYS, Expected, differences, expected, explored
from explore.oracle.known_cases import CASES

#: Where the explorer is still wrong: all ways to explore a case, or some.
WRONG: Final[dict[str, tuple[str, ...]]] = {
    "asyncio_gather": tuple(WAYS),
    "asyncio_timeouts": tuple(WAYS),
    "endless_write_loop": ("default", "depth", "two processes"),
    "endless_write_loop_without_lag": tuple(WAYS),
    "undeclared_kind": ("default", "depth", "two processes"),
    "another_version_of_the_kind": tuple(WAYS),
    "namespace_that_comes_late": ("default", "depth", "two processes"),
    "eviction_reads_a_budget": tuple(WAYS),
    "eventually_of_every_final_state": ("default", "reductions off", "two processes"),
    "generation_as_a_number_atomic": tuple(WAYS),
    "generation_as_a_number": tuple(WAYS),
    "own_write_of_another_kind_atomic": tuple(WAYS),
    "part_of_a_uid_in_a_name": tuple(WAYS),
    "version_in_memory": tuple(WAYS),
    "version_in_a_name": tuple(WAYS),
    "generated_name_after_a_delete": tuple(WAYS),
    "put_that_creates": tuple(WAYS),
    "cached_read_of_a_subresource": tuple(WAYS),
    "atomic_with_a_read_after_a_write": ("depth",),
    "definition_and_then_an_object": tuple(WAYS),
    "sometimes_and_never_within_a_step": tuple(WAYS),
    "delete_all_of_within_a_step": ("default", "two processes"),
}


@cache
def _expected(name: str) -> Expected:
    return expected(CASES[name](), limit=2_000)


#: A reconcile that breaks off leaves a coroutine behind.
_EXPECTED_FAILURE: Final = [
    pytest.mark.xfail(strict=True),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning"),
]


def _cases() -> list[Any]:
    return [
        pytest.param(name, way, id=f"{name}, {way}", marks=_EXPECTED_FAILURE if way in WRONG.get(name, ()) else [])
        for name in CASES
        for way in WAYS
    ]


@pytest.mark.parametrize(("name", "way"), _cases())
def test_the_explorer_agrees_with_the_oracle(name: str, way: str) -> None:
    answer = _expected(name)
    assert answer.decided
    assert differences(answer, explored(CASES[name](), way, worlds=10_000)) == []
