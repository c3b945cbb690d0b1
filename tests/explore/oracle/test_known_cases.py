"""Scenarios whose answers were wrong once: the explorer says what the oracle says."""

from __future__ import annotations

from functools import cache

import pytest

from explore.oracle.cases import CASES
from explore.oracle.comparison import WAYS, Expected, differences, expected, explored


@cache
def _expected(name: str) -> Expected:
    return expected(CASES[name](), limit=2_000)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_the_explorer_agrees_with_the_oracle(name: str, way: str) -> None:
    answer = _expected(name)
    assert answer.decided
    assert differences(answer, explored(CASES[name](), way, states=10_000)) == []


def test_retries_without_end_do_not_keep_the_user_of_a_fair_run_from_acting() -> None:
    assert _expected("stamps_beside_a_reconcile_that_always_fails").endless
