"""Changes that something else proposes, explored where a scenario makes the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.repair.checking import Effect, checked, targets_of
from kontend.runtime.user_file import source_of
from kontend.runtime.user_sources import UserSource
from repair.samples import COUNTERS, written

SECONDS = 120.0
#: The line of the patch.
CALL = frozenset({19})
LOCKED = COUNTERS.replace("merge_from(base)", "merge_from(base, lock=True)")
PATCH = "api.status.patch(node,\n                               merge_from(base))"
SILENT = COUNTERS.replace(PATCH, "api.live.get(KIND, request)")


def _changed(file: Path, text: str) -> UserSource:
    return source_of(file)._replace(text=text)


def test_a_lock_is_verified_by_the_scenarios_that_make_the_call(tmp_path: Path) -> None:
    found = checked(_changed(written(tmp_path), LOCKED), CALL, SECONDS)
    assert found.effect is Effect.VERIFIED
    assert found.text.startswith("repairs lost update in all ")


def test_a_change_that_drops_the_write_is_worse(tmp_path: Path) -> None:
    found = checked(_changed(written(tmp_path), SILENT), CALL, SECONDS)
    assert (found.effect, found.text) == (Effect.WORSE, "bug: nodes would not write any more")


def test_code_that_cannot_be_imported_is_worse(tmp_path: Path) -> None:
    found = checked(_changed(written(tmp_path), COUNTERS.replace("Scenario(", "Missing(")), CALL, SECONDS)
    assert found.effect is Effect.WORSE
    assert "Missing" in found.text


@pytest.mark.parametrize(
    ("text", "lines"),
    [(LOCKED, frozenset({1})), ('"""Nothing."""\n', CALL)],
    ids=["a line without a call", "a file without scenarios"],
)
def test_a_line_that_no_scenario_reaches_is_not_covered(tmp_path: Path, text: str, lines: frozenset[int]) -> None:
    file = written(tmp_path, COUNTERS if text == LOCKED else text)
    assert checked(_changed(file, text), lines, SECONDS).text == "no scenario makes this call"


def test_scenarios_in_a_file_that_imports_the_changed_one_are_explored_too(tmp_path: Path) -> None:
    controllers, scenarios = COUNTERS.split("\n\nbug = ")
    file = written(tmp_path, controllers + "\n", name="counters.py")
    imports = "from kontend.explore import Scenario\nfrom counters import *\nfrom counters import KIND\n"
    other = written(tmp_path, f"{imports}\nbug = {scenarios}", name="scenarios.py")
    written(tmp_path, "import counters\n", name="unrelated.py")
    assert list(targets_of(source_of(file))) == [file, other]
    text = controllers.replace("merge_from(base)", "merge_from(base, lock=True)") + "\n"
    # Alone, the controller has a generated scenario, which makes the call as well.
    assert checked(_changed(file, text), CALL, SECONDS).effect is Effect.VERIFIED
