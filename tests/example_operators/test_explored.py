"""The example operators hold where their historical variants are violated, in the same scenarios."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kontend.explore import Bounds, check
from kontend.explore.scenario_files import scenarios_in

EXAMPLES = Path(__file__).parents[2] / "examples"
SEI = EXAMPLES / "sei" / "scenarios.py"
VARIANTS = EXAMPLES / "sei" / "variant_scenarios.py"
TOOLHIVE = EXAMPLES / "toolhive" / "scenarios.py"


@pytest.mark.parametrize(
    ("name", "violated"),
    [
        ("v0_paused", "is_scaled_down"),
        ("v1_lost_set", "deletes_its_own_set"),
        ("v2_lost_set", "deletes_its_own_set"),
        ("v2_impostor", "deletes_its_own_set"),
        ("v3_lost_set", "deletes_its_own_set"),
        ("blind", "lost update"),
        ("blind_apply", "lost update"),
        ("executes_before_persisting", "submits_twice"),
        ("early_hash", "traffic_has_moved"),
        ("updates_incumbents", "updates_an_incumbent"),
        ("cached_await", "recorded_too_early"),
    ],
)
def test_a_variant_of_sei_is_violated(name: str, violated: str) -> None:
    verdict = check(scenarios_in(VARIANTS)[name], until_first=True)
    assert [violation.property for violation in verdict.violations] == [violated]


@pytest.mark.parametrize(
    "name", ["product_lost_set", "product_impostor", "v3_impostor", "product_paused", "product_two_instances"]
)
def test_the_operators_of_sei_hold_where_their_variants_do_not(name: str) -> None:
    assert str(check(scenarios_in(VARIANTS)[name])).startswith("holds in all")


@pytest.mark.parametrize("name", ["first", "pause", "lost_set", "new_group", "group_deletion"])
def test_the_operators_of_sei_hold(name: str) -> None:
    """The README has the figures of the larger ones, too."""
    assert str(check(scenarios_in(SEI)[name])).startswith("holds in all")


def test_a_rollout_of_sei_holds() -> None:
    assert check(replace(scenarios_in(SEI)["in_place"], bounds=Bounds(lag=0, faults=0))).ok


@pytest.mark.parametrize(("name", "violated"), [("helper", "vanished element"), ("two_phases", "never settles")])
def test_a_variant_of_toolhive_is_violated(name: str, violated: str) -> None:
    verdict = check(scenarios_in(TOOLHIVE)[name], until_first=True)
    assert violated in [violation.property for violation in verdict.violations]


@pytest.mark.parametrize("name", ["ours", "by_field_owner", "updates"])
def test_the_other_writers_of_toolhive_hold(name: str) -> None:
    scenario = replace(scenarios_in(TOOLHIVE)[name], bounds=Bounds(faults=0))
    assert str(check(scenario)).startswith("holds in all")
