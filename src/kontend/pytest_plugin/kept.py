"""Failures of tests, kept as trace archives and followed first when the test runs again.

Each check of a test has a directory of its own. An archive stays there when the bug is fixed: it is then a regression
test that costs one run, passes while the bug is gone and fails when it comes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kontend.explore.explain.results import explained_documents
from kontend.explore.problems import BadScenario
from kontend.explore.replay.reproduce import follow
from kontend.explore.scenario import STEP_BOUNDS, Scenario
from kontend.explore.trace.schedule import load_schedule
from kontend.explore.trace.token import Recorded
from kontend.explore.verdict import Verdict
from kontend.report.archive import BadTrace, read_archive
from kontend.report.grouping import grouped
from kontend.report.saving import save

_LONGEST = 80


def directory_of(base: Path, test: str, number: int) -> Path:
    """Return the directory of the failures of one check of a test.

    >>> directory_of(Path(".kontend"), "tests/test_a.py::test_b", 1).as_posix()
    '.kontend/test_a.py-test_b-df9b21a7'
    """
    name = "".join(letter if letter.isalnum() or letter in "_-." else "-" for letter in test.rpartition("/")[2])
    name = "-".join(part for part in name[:_LONGEST].split("-") if part).lstrip(".")
    digest = hashlib.sha256(test.encode(errors="surrogateescape")).hexdigest()[:8]
    return base / (f"{name}-{digest}" + (f"-{number}" if number > 1 else ""))


def archives_in(directory: Path) -> list[Path]:
    """Return the archives of a directory; none if there is no such directory."""
    return sorted(directory.glob("*.zip")) if directory.is_dir() else []


def replayed(scenario: Scenario, archives: Sequence[Path]) -> tuple[Verdict | None, list[str]]:
    """Return the verdict of the first archive that still fails, if any, and a remark on each that cannot be
    followed."""
    remarks = []
    for path in archives:
        try:
            document = read_archive(path)
            unknown = set(document.bounds) - set(STEP_BOUNDS)
            if unknown:
                raise BadScenario(f"this version of kontend has no bounds {', '.join(sorted(unknown))}")
            recorded = Recorded(document.violation.property, load_schedule(document.schedule), document.bounds)
            verdict = follow(scenario, recorded)
        except (BadScenario, BadTrace, TypeError, ValueError) as error:
            remarks.append(f"{path}: not followed: {error}; remove it if the test has changed")
            continue
        if verdict.violations:
            verdict.notes.append(f"followed {path} instead of searching; --kontend-no-replay searches")
            return verdict, remarks
    return None, remarks


def keep(directory: Path, verdict: Verdict) -> list[Path]:
    """Write an archive and a page for each cause of the violations; returns the archives. Raises ``OSError``."""
    return [save(directory, document) for document in grouped(explained_documents(verdict))]
