"""Executors by their names."""

from __future__ import annotations

import pytest

from kontend.executors.names import executor_problem
from kontend.explore.exploring import SearchOptions
from kontend.explore.problems import BadScenario


@pytest.mark.parametrize("name", ["", "fork", "spawn"])
def test_an_executor_that_exists_is_accepted(name: str) -> None:
    assert not executor_problem(name)


def test_an_executor_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadScenario, match=r"executor='frok': .*fork"):
        SearchOptions(executor="frok")


def test_walks_have_no_executor() -> None:
    with pytest.raises(BadScenario, match="only search='breadth'"):
        SearchOptions("random", executor="spawn")
