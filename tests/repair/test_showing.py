"""Verified fixes beside the explanations of a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.verdict import Verdict
from kontend.repair.showing import show_fixes
from kontend.report.document import Explanation, Fix, Hunk, VerifiedFix
from kontend.report.text import render
from repair.samples import COUNTERS, written

#: Enough on a machine that does other work as well.
SECONDS = 120.0


def _explored(file: Path) -> tuple[Scenario, Verdict]:
    scenario = scenarios_in(file)["bug"]
    return scenario, explore(scenario, SearchOptions())


def test_an_explanation_gets_the_verified_change_with_its_proof(tmp_path: Path) -> None:
    file = written(tmp_path)
    _, verdict = _explored(file)
    assert show_fixes(verdict, file, "bug", seconds=SECONDS)
    fix = verdict.documents[0].violation.verified
    assert fix is not None
    assert fix.file == "counters.py"
    assert fix.proof.startswith("verified: holds in all ")
    assert fix.proof.endswith("1 other scenario unchanged")
    assert [(hunk.line, hunk.after[0].strip()) for hunk in fix.hunks] == [
        (20, "merge_from(base, lock=True))  # stored")
    ]
    assert fix.proof in str(verdict)


def test_a_module_that_the_scenario_imports_is_repaired_although_this_process_has_imported_it(tmp_path: Path) -> None:
    controllers, scenarios = COUNTERS.split("\n\nbug = ")
    written(tmp_path, controllers + "\n", name="counted_nodes.py")
    imports = "from counted_nodes import *\nfrom counted_nodes import KIND\n"
    file = written(tmp_path, f"{imports}\nbug = {scenarios}", name="scenarios_of_nodes.py")
    _, verdict = _explored(file)
    assert show_fixes(verdict, file, "bug", seconds=SECONDS)
    fix = verdict.documents[0].violation.verified
    assert fix is not None
    assert fix.file == "counted_nodes.py"


def test_a_verdict_that_took_longer_than_the_time_limit_gets_no_fix(tmp_path: Path) -> None:
    file = written(tmp_path)
    _, verdict = _explored(file)
    verdict.seconds = 2.0
    assert not show_fixes(verdict, file, "bug", seconds=1.0)
    assert verdict.documents[0].violation.verified is None


def test_a_verdict_without_violations_gets_no_fix(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert not show_fixes(explore(scenarios_in(file)["alone"], SearchOptions()), file, "alone", seconds=SECONDS)


@pytest.mark.parametrize(
    ("proposed", "shown"),
    [
        (
            ("    patch(base, lock=True)",),
            ["      - patch(base)", "      + patch(base, lock=True)", "    verified: holds"],
        ),
        (
            ("    update(obj)",),
            ["  Fix (verified: holds):", "    --- a.py:3", "      - patch(base)", "      + patch(base, lock=True)"],
        ),
    ],
)
def test_a_change_that_the_fix_proposes_is_shown_once(
    tmp_path: Path, proposed: tuple[str, ...], shown: list[str]
) -> None:
    _, verdict = _explored(written(tmp_path))
    before = ("    patch(base)",)
    fix = VerifiedFix("a.py", "verified: holds", (Hunk(3, before, ("    patch(base, lock=True)",)),))
    violation = Explanation("lost update", "It is lost.", fix=Fix("lock", before=before, after=proposed), verified=fix)
    document = replace(verdict.documents[0], violation=violation)
    assert render(document).splitlines()[-len(shown) :] == shown
