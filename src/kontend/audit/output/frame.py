"""The code of a finding: the lines of its read, its base and its write, in the order of the file."""

from __future__ import annotations

from kontend.audit.finding import Finding
from kontend.audit.report import Report

_WIDTH = 100


def frame(report: Report, finding: Finding) -> list[str]:
    """Return the lines of a finding with their numbers, the write marked, each with its part in the problem."""
    lines: dict[str, dict[int, str]] = {}
    lines.setdefault(finding.path, {})[finding.line] = "write" if finding.related else ""
    for place in finding.related[:6]:
        lines.setdefault(place.path, {}).setdefault(place.line, place.note)
    shown: list[str] = []
    for path in sorted(lines, key=lambda path: (path != finding.path, path)):
        source = report.sources.get(path)
        if source is None:
            continue
        text = source.decode("utf-8", "replace").splitlines()
        if path != finding.path:
            shown.append(f"  {path}")
        for number, note in sorted(lines[path].items()):
            if not 0 < number <= len(text):
                continue
            mark = ">" if (path, number) == (finding.path, finding.line) else " "
            code = text[number - 1].strip()
            code = code if len(code) <= _WIDTH else code[: _WIDTH - 3] + "..."
            shown.append(f"{mark} {number:>5} | {code}" + (f"    <- {note}" if note else ""))
    return shown
