"""Verified fixes of Go packages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kontend.explanation.remedies import Remedy
from kontend.explore.sources.inputs import Inputs
from kontend.repair.applying import write_fix
from kontend.repair.candidates import Candidate, candidates_of
from kontend.repair.repairing import Options, Repairs, repaired
from kontend.repair.report import text_of
from kontend.repair.trial import Violated
from kontend.runtime.user_sources import UserSource

EXAMPLES = Path(__file__).parents[2] / "examples" / "go"
UNLOCKED = "	patch := client.MergeFrom(base) // unlocked"
LOCKED = "	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}) // unlocked"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the operator of the examples; skips where there is no Go."""
    if shutil.which("go") is None:
        pytest.skip("there is no command go")
    module = tmp_path_factory.mktemp("go")
    shutil.copytree(EXAMPLES, module, dirs_exist_ok=True)
    (module / "pyproject.toml").touch()
    test = module / "doubleplan" / "explore_test.go"
    kept = [line for line in test.read_text().splitlines() if "TestExploreLocked" not in line]
    test.write_text("\n".join(kept) + "\n")
    return module / "doubleplan"


@pytest.fixture(scope="module")
def repairs(package: Path) -> Repairs:
    return repaired(package, Inputs(), Options(seconds=300, fixes=1))


def test_a_lost_update_of_go_code_is_repaired_by_a_lock(repairs: Repairs) -> None:
    (repair,) = repairs.repairs
    (verified,) = repair.verified
    assert (repair.scenario, repair.violated.property) == ("TestExploreBlind", "lost update")
    assert verified.candidate.remedies == (Remedy.LOCK_PATCH,)
    assert verified.certain is None


def test_what_a_fix_repairs_in_other_scenarios_is_not_repaired_once_more(repairs: Repairs) -> None:
    (verified,) = repairs.repairs[0].verified
    assert verified.repaired_elsewhere == {"TestExploreBlind/deleted", "TestExploreBlind/recreated"}
    assert next(text_of(repairs)).endswith("same bounds; 2 others repaired as well)")


def test_exploring_candidates_leaves_the_module_as_it_is(repairs: Repairs, package: Path) -> None:
    original = (EXAMPLES / "doubleplan" / "reconciler.go").read_text()
    assert (package / "reconciler.go").read_text() == original
    assert (package.parent / "go.mod").read_text() == (EXAMPLES / "go.mod").read_text()
    assert repairs.repairs[0].verified


def test_a_fix_of_go_code_is_written(repairs: Repairs, package: Path) -> None:
    original = (package / "reconciler.go").read_text()
    candidate = repairs.repairs[0].verified[0].candidate
    try:
        written = write_fix(candidate, package.parent, force=False, ask=lambda _: False)
        assert written.read_text() == original.replace(UNLOCKED, LOCKED)
    finally:
        (package / "reconciler.go").write_text(original)


def _candidates(text: str, directory: Path) -> list[Candidate]:
    file = str(directory / "a.go")
    violated = Violated("lost update", "", "lock-patch", place=(file, 5), lines=((file, 5),))
    return candidates_of(violated, [UserSource("", file, text)], directory)


def test_files_outside_of_the_project_and_files_that_are_no_code_have_no_candidates(tmp_path: Path) -> None:
    code = (EXAMPLES / "doubleplan" / "reconciler.go").read_text()
    assert _candidates(code, tmp_path)
    assert _candidates(code + "}", tmp_path) == []
    file = str(tmp_path / "a.go")
    violated = Violated("lost update", "", "lock-patch", place=(file, 5), lines=((file, 5),))
    assert candidates_of(violated, [UserSource("", file, code)], tmp_path / "other") == []
