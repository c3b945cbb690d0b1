"""The labelled set: reviewers' verdicts about four hundred writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.audit_scoring import Label, materialise, score, score_directory

from kontend.audit.finding import Severity
from kontend.audit.report import Report

LABELS = Path(__file__).parent / "labels"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Label], Report]:
    """The labels, and an audit of the labelled sources."""
    return score_directory(materialise(LABELS, tmp_path_factory.mktemp("labels") / "labelled"))


def test_three_hundred_sites_are_labelled(scored: tuple[list[Label], Report]) -> None:
    labels, _ = scored
    assert len({(label.path, label.line) for label in labels}) >= 300


@pytest.mark.parametrize("severity", list(Severity))
def test_findings_on_the_labelled_set_are_right_and_complete(
    scored: tuple[list[Label], Report], severity: Severity
) -> None:
    labels, report = scored
    result = score(labels, report, severity)
    assert len(result.found) > 20
    assert result.wrong == ()
    assert result.missed == ()


def test_a_label_is_missed_when_its_line_has_no_finding(scored: tuple[list[Label], Report]) -> None:
    labels, report = scored
    result = score(labels, replace(report, findings=[]), Severity.ERROR)
    assert result.recall == 0.0
    assert result.precision == 1.0
