"""What a change adds: the lines that differ from a git revision, and the findings that stand on them.

A finding counts as new when its write, or the base it comes from, is on a changed line. Git is asked once, for a diff
with no context.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from kontend.audit.finding import Finding

_FILE = re.compile(r"^\+\+\+ (?:b/)?(.*)$")
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class DiffError(Exception):
    """Git could not compare; the message says what it said."""


def changed_lines(revision: str, near: str) -> dict[str, set[int]]:
    """Return the lines of each file, by absolute path, that differ from a revision; files git does not know count
    whole."""
    directory = near if Path(near).is_dir() else str(Path(near).parent)
    top = _git(directory, "rev-parse", "--show-toplevel").strip()
    diff = _git(top, "diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", "*.go", "*.py")
    found = parse_diff(diff)
    fresh = _git(top, "ls-files", "--others", "--exclude-standard", "--", "*.go", "*.py").splitlines()
    lines = {str(Path(top, name).resolve()): numbers for name, numbers in found.items()}
    for name in fresh:
        path = Path(top, name)
        try:
            lines[str(path.resolve())] = set(range(1, path.read_bytes().count(b"\n") + 2))
        except OSError:
            continue
    return lines


def parse_diff(diff: str) -> dict[str, set[int]]:
    """Read the added lines out of a unified diff without context.

    >>> parse_diff("+++ b/x.go\\n@@ -3,0 +4,2 @@\\n+a\\n+b\\n")
    {'x.go': {4, 5}}
    """
    found: dict[str, set[int]] = {}
    current: set[int] | None = None
    for line in diff.splitlines():
        if file := _FILE.match(line):
            current = None if file.group(1) == "/dev/null" else found.setdefault(file.group(1).strip('"'), set())
        elif current is not None and (hunk := _HUNK.match(line)):
            start, count = int(hunk.group(1)), int(hunk.group(2) or 1)
            current.update(range(start, start + count))
    return found


def added(
    findings: Iterable[Finding], lines: dict[str, set[int]], bases: dict[tuple[str, int], tuple[str, int]]
) -> list[Finding]:
    """Keep the findings whose write or base is on a changed line."""
    kept: list[Finding] = []
    for finding in findings:
        places = [(finding.path, range(finding.line, max(finding.line, finding.end_line) + 1))]
        base = bases.get((finding.path, finding.line))
        if base is not None:
            places.append((base[0] or finding.path, range(base[1], base[1] + 1)))
        if any(not lines.get(_resolved(path), set()).isdisjoint(numbers) for path, numbers in places):
            kept.append(finding)
    return kept


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except OSError:
        return path


def _git(directory: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, check=False)
    except OSError as error:
        raise DiffError(f"git could not be run in {directory}: {error.strerror or error}; --diff needs git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise DiffError(f"git {arguments[0]} in {directory}: {said[-1] if said else 'failed'}")
    return done.stdout.decode("utf-8", "replace")
