"""The labelled set: what reviewers say about a hundred writes."""

from __future__ import annotations

from pathlib import Path

from kontend.audit.finding import Severity
from kontend.audit.scoring import materialise, score, score_directory

LABELS = Path(__file__).parent / "labels"


def test_errors_on_the_labelled_set_are_right_and_complete(tmp_path: Path) -> None:
    labels, report = score_directory(materialise(LABELS, tmp_path / "labelled"))
    assert len(labels) >= 80
    errors = score(labels, report, Severity.ERROR)
    assert errors.precision >= 0.95, errors.wrong
    assert errors.recall >= 0.95, errors.missed
    warnings = score(labels, report, Severity.WARNING)
    assert min(warnings.precision, warnings.recall) >= 0.9, (warnings.wrong, warnings.missed)
