"""Precision and recall of the auditor on labelled sources.

A label is a comment on the line where a write begins: `label: error[rule]`, `label: warning[rule]`, `label:
info[rule]`, several of them, or `label: clean`. A finding on a line that is not labelled with its severity is wrong,
wherever it stands.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kontend.audit.auditor import audit
from kontend.audit.finding import Finding, Severity
from kontend.audit.report import Report
from kontend.audit.settings.config import Settings

_LABEL = re.compile(r"\b(error|warning|info|clean)\b(?:\[([\w-]+)\])?")


@dataclass(frozen=True, slots=True)
class Label:
    """A reviewer's verdict about a line."""

    path: str
    line: int
    severity: str
    rule: str


@dataclass(frozen=True, slots=True)
class Score:
    """The result of an audit against labels, for one severity."""

    found: tuple[Label, ...]
    missed: tuple[Label, ...]
    wrong: tuple[Finding, ...]

    @property
    def precision(self) -> float:
        """The share of what was reported that is labelled so."""
        reported = len(self.found) + len(self.wrong)
        return len(self.found) / reported if reported else 1.0

    @property
    def recall(self) -> float:
        """The share of what is labelled that was reported."""
        labelled = len(self.found) + len(self.missed)
        return len(self.found) / labelled if labelled else 1.0


def materialise(source: Path, target: Path) -> Path:
    """Copy labelled sources to a directory, dropping the `.txt` that keeps other tools away from them."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.txt")):
        name, language = path.name.removesuffix(".txt"), path.suffixes[0]
        place = target / name.removesuffix(language) / name  # a package each, as in Go
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, place)
    return target


def read_labels(paths: Iterable[Path]) -> list[Label]:
    """Read the labels of files."""
    labels: list[Label] = []
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if "label:" in line:
                marks = _LABEL.findall(line[line.index("label:") :])
                labels += [Label(str(path), number, severity, rule) for severity, rule in marks]
    return labels


def score(labels: Iterable[Label], report: Report, severity: Severity = Severity.ERROR) -> Score:
    """Compare a report with labels, for one severity."""
    wanted = [label for label in labels if label.severity == severity.value]
    reported = [finding for finding in report.findings if finding.severity is severity]
    found = [label for label in wanted if any(_agrees(label, finding) for finding in reported)]
    missed = [label for label in wanted if label not in found]
    wrong = [finding for finding in reported if not any(_agrees(label, finding) for label in wanted)]
    return Score(tuple(found), tuple(missed), tuple(wrong))


def _agrees(label: Label, finding: Finding) -> bool:
    """Accept a finding at the label's line, or one that names the line as a caller or as another writer."""
    places = {(finding.path, finding.line), *((place.path, place.line) for place in finding.places)}
    same = (str(Path(label.path).resolve()), label.line) in {(str(Path(path).resolve()), line) for path, line in places}
    return same and (not label.rule or label.rule in finding.names)


def score_directory(directory: Path) -> tuple[list[Label], Report]:
    """Audit labelled sources with the default policy, each package by itself: they are separate programs."""
    reports = [audit([str(place)], Settings()) for place in sorted(directory.iterdir()) if place.is_dir()]
    report = Report(
        [site for report in reports for site in report.sites],
        [finding for report in reports for finding in report.findings],
    )
    return read_labels(sorted(path for path in directory.rglob("*") if path.suffix in (".go", ".py"))), report
