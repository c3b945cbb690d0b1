"""Findings for editors: ranges in the units of the Language Server Protocol, and the edits of quick fixes.

The protocol counts lines from 0 and columns in UTF-16 units, the auditor lines from 1 and bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kontend.audit.finding import Finding
from kontend.audit.output.fix import lines_changed
from kontend.audit.report import Report


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a document: zero-based lines, columns in UTF-16 units."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """A change of a document."""

    path: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class QuickFix:
    """A change that an editor offers at a finding."""

    title: str
    replacements: tuple[Replacement, ...]
    preferred: bool = False


def span_of(finding: Finding, source: bytes) -> Span:
    """Return the lines of a finding without their indentation."""
    lines = source.split(b"\n")
    first, last = (min(max(at, 1), len(lines)) - 1 for at in (finding.line, finding.end_line))
    indent = len(lines[first]) - len(lines[first].lstrip())
    return Span(first, _units(lines[first][:indent]), last, _units(lines[last].rstrip()))


def quick_fixes(report: Report, finding: Finding) -> Iterator[QuickFix]:
    """Yield the safe fix of a finding, if it has one, and the comment that suppresses it."""
    if finding.edits:
        replacements = tuple(
            Replacement(edit.path, _span(report.sources[edit.path], edit.start, edit.end), edit.text)
            for edit in sorted(set(finding.edits), key=lambda edit: (edit.path, edit.start))
        )
        added = [line[2:] for line in lines_changed(report, finding) if line.startswith("+ ")]
        yield QuickFix(f"Lock the write: {added[0]}" if added else "Lock the write", replacements, preferred=True)
    source = report.sources.get(finding.path)
    if source is None:
        return
    at = span_of(finding, source)
    line = source.split(b"\n")[at.line].decode("utf-8", "replace")
    indent = line[: len(line) - len(line.lstrip())]
    mark = "#" if finding.path.endswith(".py") else "//"
    comment = f"{indent}{mark} kontend: ignore[{finding.rule}] -- REASON\n"
    yield QuickFix(
        f"Suppress {finding.rule} (write the reason)",
        (Replacement(finding.path, Span(at.line, 0, at.line, 0), comment),),
    )


def _span(source: bytes, start: int, end: int) -> Span:
    return Span(*_position(source, start), *_position(source, end))


def _position(source: bytes, offset: int) -> tuple[int, int]:
    begin = source.rfind(b"\n", 0, offset) + 1
    return source.count(b"\n", 0, offset), _units(source[begin:offset])


def _units(text: bytes) -> int:
    return len(text.decode("utf-8", "replace").encode("utf-16-le")) // 2
