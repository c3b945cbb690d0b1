"""Verified fixes of files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kontend.explanation.remedies import Remedy
from kontend.explore.sources.inputs import Inputs
from kontend.repair.effects import Effects
from kontend.repair.repairing import Options, Repairs, repaired, worse_than
from kontend.repair.report import document_of, text_of
from kontend.repair.trial import Explored, Order, tried
from repair.samples import COUNTERS, written


@pytest.fixture(scope="module")
def repairs(tmp_path_factory: pytest.TempPathFactory) -> Repairs:
    return repaired(written(tmp_path_factory.mktemp("counters")), Inputs(), Options(seconds=120, fixes=1))


def test_a_lost_update_is_repaired_by_a_lock(repairs: Repairs) -> None:
    (repair,) = repairs.repairs
    (verified,) = repair.verified
    assert (repair.scenario, repair.violated.property) == ("bug", "lost update")
    assert verified.candidate.remedies == (Remedy.LOCK_PATCH,)
    assert (verified.others, verified.remaining) == (1, ())


def test_all_but_the_change_stays_byte_for_byte(repairs: Repairs) -> None:
    candidate = repairs.repairs[0].verified[0].candidate
    assert candidate.text == COUNTERS.replace("merge_from(base)", "merge_from(base, lock=True)")
    assert candidate.lines == (
        ("                               merge_from(base))  # stored",),
        ("                               merge_from(base, lock=True))  # stored",),
    )


def test_the_text_shows_the_proof_and_the_diff(repairs: Repairs) -> None:
    lines = list(text_of(repairs))
    states = repairs.repairs[0].verified[0].states
    assert lines[:4] == [
        f'fix 1 of 1 for "lost update" of bug (verified: holds in all {states} states, same bounds; '
        "1 other scenario unchanged)",
        "--- counters.py:20",
        "-                               merge_from(base))  # stored",
        "+                               merge_from(base, lock=True))  # stored",
    ]


def test_json_has_a_diff_that_tools_can_apply(repairs: Repairs) -> None:
    (violation,) = document_of(repairs)["violations"]
    assert violation["property"] == "lost update"
    assert violation["fixes"][0]["remedies"] == ["lock-patch"]
    assert violation["fixes"][0]["diff"].startswith("--- a/counters.py\n+++ b/counters.py\n@@ -17,")


def test_exploring_candidates_leaves_the_tree_as_it_is(repairs: Repairs) -> None:
    """So a tree that is read-only is enough."""
    assert repairs.file.read_text() == COUNTERS
    assert {path.name for path in repairs.file.parent.iterdir()} - {"__pycache__"} == {"counters.py", "pyproject.toml"}


def test_a_file_without_a_bug_has_nothing_to_fix(tmp_path: Path) -> None:
    safe = COUNTERS.replace("merge_from(base)", "merge_from(base, lock=True)")
    found = repaired(written(tmp_path, safe), Inputs(), Options())
    assert found.repairs == []
    assert next(text_of(found)).startswith("nothing to fix: 2 scenarios hold in all ")


def test_an_interrupted_repair_keeps_what_it_has(tmp_path: Path) -> None:
    seen: list[str] = []

    def progress(text: str) -> None:
        seen.append(text)
        if "candidates 2" in text:
            raise KeyboardInterrupt

    found = repaired(written(tmp_path), Inputs(), Options(fixes=2, progress=progress))
    assert found.interrupted
    assert [len(repair.verified) for repair in found.repairs] == [1]
    assert found.repairs[0].untried > 0
    assert list(text_of(found))[-1] == "interrupted: candidates that come later were not tried"


def test_a_limit_is_said(tmp_path: Path) -> None:
    found = repaired(written(tmp_path), Inputs(), Options(seconds=1e-6))
    assert found.repairs[0].stopped == "1e-06 s are over"
    assert "0 candidates tried" in next(text_of(found))


def test_code_that_cannot_be_imported_any_more_is_no_fix(tmp_path: Path) -> None:
    file = written(tmp_path)
    first = tried(Order(str(file), explained=True), 60)
    (source,) = [source for source in first.sources if source.file == str(file)]
    broken = source._replace(text=source.text + "\nraise RuntimeError('no')\n")
    assert "RuntimeError: no" in tried(Order(str(file), changed=(broken,)), 60).error


def test_a_trial_that_does_not_end_is_ended(tmp_path: Path) -> None:
    file = written(tmp_path, "while True:\n    pass\n")
    assert tried(Order(str(file)), 0.5).timed_out


# What a fix must keep

NOTHING = Effects(frozenset(), frozenset(), frozenset())
HELD = Explored(
    "other", (), (), True, "", 10, Effects(frozenset({b"a"}), frozenset({b"a", b"b"}), frozenset({"nodes"}))
)


def test_a_controller_that_falls_silent_is_no_fix(tmp_path: Path) -> None:
    """The write is dropped, so that nothing can be lost."""
    file = written(tmp_path)
    first = tried(Order(str(file), explained=True), 60)
    (source,) = [source for source in first.sources if source.file == str(file)]
    silent = source._replace(text=source.text.replace("if node.get(", "if True or node.get("))
    later = tried(Order(str(file), changed=(silent,), names=("bug",)), 60).explored[0]
    assert later.broken == frozenset()
    lost = first.explored[0].effects.lost(later.effects, compare_finals=True)
    assert lost == "nodes would not write any more"


def test_final_states_of_unperturbed_runs_must_stay_reachable() -> None:
    later = replace(HELD.effects, finals=frozenset({b"b"}))
    assert HELD.effects.lost(later, compare_finals=True).startswith("a final state of an unperturbed run")
    assert HELD.effects.lost(later, compare_finals=False) == ""


@pytest.mark.parametrize(
    ("after", "worse"),
    [
        (HELD, ""),
        (replace(HELD, untested=("seen",)), "other: seen would be violated"),
        (replace(HELD, exhausted=False, stopped="it took too long"), "other: undecided: it took too long"),
        (replace(HELD, effects=NOTHING), "other: nodes would not write any more"),
    ],
)
def test_a_scenario_that_comes_out_worse_rejects_a_fix(after: Explored, worse: str) -> None:
    assert worse_than(HELD, after) == worse
