"""``kontend audit --fix --verify``: the explorer runs what the auditor proposes, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kontend.audit.report import Report
from kontend.repair.checking import Effect, checked
from kontend.runtime.user_file import source_of
from kontend.runtime.user_sources import UserSource

#: Seconds for each exploration of a file.
_SECONDS: Final = 60.0


def verified(report: Report, changes: Mapping[str, bytes]) -> tuple[dict[str, bytes], str, bool]:
    """Explore each changed file. Returns the changes that break nothing, a line for each, and if one broke something.

    The fixes of a file are explored together, because they are written together.
    """
    kept: dict[str, bytes] = {}
    lines: list[str] = []
    for path, content in changes.items():
        findings = [finding for finding in report.findings if any(edit.path == path for edit in finding.edits)]
        calls = frozenset(
            line
            for finding in findings
            if finding.path == path
            for line in range(finding.line, max(finding.line, finding.end_line) + 1)
        )
        found = checked(_source(path, content), calls, _SECONDS)
        places = ", ".join(str(finding.line) for finding in findings)
        if found.effect is Effect.WORSE:
            lines.append(f"{path}:{places}: not written: {found.text}")
        else:
            kept[path] = content
            lines.append(f"{path}:{places}: {found.effect.value}: {found.text}")
    return kept, "".join(f"{line}\n" for line in lines), len(kept) < len(changes)


def _source(path: str, content: bytes) -> UserSource:
    """Return a changed file under the name by which the explorer imports it."""
    text = content.decode("utf-8", "replace")
    file = Path(path).resolve()
    if file.suffix == ".go":
        return UserSource("", str(file), text)
    return source_of(file)._replace(text=text)
