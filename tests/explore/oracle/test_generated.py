"""The explorer says of generated scenarios what the oracle says; ``make fuzz`` compares more of them."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from explore.oracle.comparison import Expected, differences, expected, explored
from explore.oracle.generated.descriptions import scenario_of
from explore.oracle.generated.generator import description

#: Scenarios that are compared, and the largest number of states of each.
SCENARIOS: Final = 200
STATES: Final = 250


@cache
def _expected(seed: int) -> Expected:
    return expected(scenario_of(description(seed)), limit=STATES)


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_a_generated_scenario(seed: int) -> None:
    answer = _expected(seed)
    if not answer.decided:
        pytest.skip("too many states")
    assert differences(answer, explored(scenario_of(description(seed)), states=20 * STATES)) == []
