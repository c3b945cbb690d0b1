"""The explorer says of generated scenarios what the oracle says; ``make fuzz`` compares more of them."""

from __future__ import annotations

from typing import Final

import pytest

from effort import effort
from explore.oracle.comparison import differences, expected, explored
from explore.oracle.generated.descriptions import scenario_of
from explore.oracle.generated.generator import description

#: The seeds of the scenarios, of which some have too many states to be compared here.
SEEDS: Final = range(effort(140, 280))
#: The largest number of states that the oracle visits.
STATES: Final = 120


@pytest.mark.parametrize("seed", SEEDS)
def test_the_explorer_agrees_with_the_oracle(seed: int) -> None:
    answer = expected(scenario_of(description(seed)), limit=STATES)
    if not answer.decided:
        pytest.skip(f"more than {STATES} states")
    states = 20 * STATES if answer.findings.exhausted else STATES
    assert differences(answer, explored(scenario_of(description(seed)), states=states)) == []


@pytest.mark.parametrize("seed", range(1000, 1000 + effort(40, 80)))
def test_sets_of_states_agree_with_the_oracle(seed: int) -> None:
    answer = expected(scenario_of(description(seed)), limit=STATES)
    if not answer.decided:
        pytest.skip(f"more than {STATES} states")
    verdict = explored(scenario_of(description(seed)), "sets of states", states=20 * STATES)
    assert differences(answer, verdict) == []


@pytest.mark.parametrize(
    ("seed", "way"),
    [
        (10_000_307, "default"),
        (21_000_203, "default"),
        (22_000_365, "default"),
        (30_000_391, "default"),
        (31_120_161, "default"),
        (52_000_131, "default"),
        (52_000_460, "depth"),
        (60_140_022, "default"),
    ],
)
def test_seeds_that_were_judged_wrongly_once(seed: int, way: str) -> None:
    answer = expected(scenario_of(description(seed)), limit=1_000)
    assert answer.decided
    assert differences(answer, explored(scenario_of(description(seed)), way, states=20_000)) == []


@pytest.mark.parametrize("seed", [*range(45_000_000, 45_000_090), *range(60_000_000, 60_000_040)])
def test_further_shapes_agree_with_the_oracle(seed: int) -> None:
    answer = expected(scenario_of(description(seed)), limit=STATES)
    if not answer.decided:
        pytest.skip(f"more than {STATES} states")
    states = 20 * STATES if answer.findings.exhausted else STATES
    assert differences(answer, explored(scenario_of(description(seed)), states=states)) == []
