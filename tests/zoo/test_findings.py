"""The statements of docs/findings.md that one entry does not prove by itself."""

from __future__ import annotations

import re
from pathlib import Path

from kontend.explore import check
from kontend.explore.scenario_files import scenarios_in
from kontend.zoo.entry import directory, entries

FOLDER = directory() or Path()
PAGES = Path(__file__).parents[2] / "docs"


def test_every_entry_that_the_pages_name_exists() -> None:
    known = entries(FOLDER)
    for page in ("findings.md", "zoo.md"):
        text = (PAGES / page).read_text(encoding="utf-8")
        named = set(re.findall(r"kontend zoo ([a-z]\w+)", text)) | set(re.findall(r"`(sei_r\d)`", text))
        assert named
        assert named <= set(known), page


def test_the_churn_of_348_is_bounded_unless_the_task_stays_pending() -> None:
    scenarios = scenarios_in(FOLDER / "sei_348.py")
    names = {
        name: [violation.property for violation in check(scenarios[name]).violations]
        for name in ("buggy", "buggy_pending")
    }
    assert "never settles" not in names["buggy"]
    assert "deletes_its_own_set" in names["buggy"]
    assert "never settles" in names["buggy_pending"]


def test_the_published_symptom_of_f1_is_not_reachable() -> None:
    verdict = check(scenarios_in(FOLDER / "flux_f1c.py")["buggy"])
    names = [violation.property for violation in verdict.violations]
    assert verdict.exhausted
    assert "observed_without_conditions" in names
    assert "artifact_without_observed_generation" not in names


def test_locked_writes_make_one_plan_and_blind_ones_two() -> None:
    scenarios = scenarios_in(FOLDER / "sei_147.py")
    assert check(scenarios["fixed"])
    for name in ("buggy", "buggy_apply"):
        assert "lost update" in [violation.property for violation in check(scenarios[name]).violations]
