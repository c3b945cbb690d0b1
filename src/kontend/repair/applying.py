"""Writes a fix into the file that it changes, and never over what somebody else has changed meanwhile."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from kontend.repair.candidates import Candidate
from kontend.safe_files import write_whole


class NotApplied(Exception):
    """A fix that was not written; the message says why, and what to do."""


def write_fix(candidate: Candidate, root: Path, *, force: bool, ask: Callable[[str], bool]) -> Path:
    """Write the changed file. Raises :class:`NotApplied`."""
    file = Path(candidate.source.file)
    resolved = file.resolve()
    if not resolved.is_relative_to(root.resolve()):
        raise NotApplied(f"{file} is outside of the project {root}: it is left alone")
    try:
        present = resolved.read_bytes()
    except OSError as error:
        raise NotApplied(f"{file}: {error.strerror}") from error
    before = candidate.source.text
    if present.decode("utf-8", "replace") != before:
        # Python reads every line ending as one: a file with others keeps them by not being touched.
        raise NotApplied(f"{file} is not what was explored: it has changed, or has other line endings; run it again")
    if not force and has_changes(resolved) and not ask(f"{file} has uncommitted changes. Write the fix over them?"):
        raise NotApplied(f"{file} has uncommitted changes: commit them, or add --force")
    try:
        mode = resolved.stat().st_mode & 0o777
        if not os.access(resolved, os.W_OK):
            raise NotApplied(f"{file} is read-only; the diff above is the fix")
        write_whole(resolved, candidate.text, mode=mode)
    except OSError as error:
        raise NotApplied(f"{file}: {error.strerror}; the diff above is the fix") from error
    return file


def has_changes(file: Path) -> bool:
    """Git knows of changes of a file that are not committed; a file outside of a repository has none to lose."""
    command = ["git", "status", "--porcelain", "--", file.name]
    try:
        found = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0 and bool(found.stdout.strip())
