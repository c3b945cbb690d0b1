"""The safe fixes of a report, as new file contents and as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from kontend.audit.finding import Edit, Finding
from kontend.audit.judge.fixes import apply_edits
from kontend.audit.report import Report


def fixed(report: Report) -> dict[str, bytes]:
    """Return the files that change, with every safe edit applied."""
    edits: dict[str, list[Edit]] = {}
    for finding in report.findings:
        for edit in finding.edits:
            edits.setdefault(edit.path, []).append(edit)
    return {path: apply_edits(report.sources[path], changes) for path, changes in sorted(edits.items())}


def unified_diff(report: Report, changes: Mapping[str, bytes], context: int = 3) -> str:
    """Return the changes as a unified diff."""
    parts: list[str] = []
    for path, content in changes.items():
        before = report.sources[path].decode("utf-8", "replace").splitlines(keepends=True)
        after = content.decode("utf-8", "replace").splitlines(keepends=True)
        parts += difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", n=context)
    return "".join(line if line.endswith("\n") else line + "\n" for line in parts)


def lines_changed(report: Report, finding: Finding) -> list[str]:
    """Return the lines that the fix of one finding takes away and adds."""
    lines: list[str] = []
    for path in dict.fromkeys(edit.path for edit in finding.edits):
        source = report.sources.get(path)
        if source is None:
            continue
        edits = [edit for edit in finding.edits if edit.path == path]
        start = source.rfind(b"\n", 0, min(edit.start for edit in edits)) + 1
        end = source.find(b"\n", max(edit.end for edit in edits))
        end = len(source) if end < 0 else end
        grown = sum(len(edit.text.encode()) - (edit.end - edit.start) for edit in set(edits))
        old = source[start:end].decode("utf-8", "replace")
        new = apply_edits(source, edits)[start : end + grown].decode("utf-8", "replace")
        lines += [f"- {line.strip()}" for line in old.splitlines()]
        lines += [f"+ {line.strip()}" for line in new.splitlines()]
    return lines
