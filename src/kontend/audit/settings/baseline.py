"""A baseline: the findings that were there when the auditor came, by fingerprint.

What is in the file is not reported again; what is new is. Fingerprints hold no line numbers, so old findings stay old
when code moves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from kontend.audit.finding import Finding

_VERSION = 1


class BaselineError(Exception):
    """A baseline that cannot be read; the message names the file."""


def read_baseline(path: str) -> set[str]:
    """Return the fingerprints in a baseline file."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BaselineError(
            f"{path}: {error.strerror or error}; `kontend audit --write-baseline {path}` makes one"
        ) from error
    except ValueError as error:
        raise BaselineError(f"{path}: not a baseline, JSON was expected: {error}") from error
    entries = content.get("findings") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise BaselineError(f"{path}: not a baseline, it has no list of findings")
    return {str(entry.get("fingerprint")) for entry in entries if isinstance(entry, dict)}


def write_baseline(path: str, findings: Iterable[Finding]) -> int:
    """Write a baseline of findings and return how many it holds."""
    entries = [
        {"fingerprint": finding.fingerprint, "rule": finding.rule, "path": finding.path, "function": finding.function}
        for finding in sorted(findings, key=lambda finding: (finding.path, finding.rule, finding.fingerprint))
    ]
    try:
        Path(path).write_text(json.dumps({"version": _VERSION, "findings": entries}, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    return len(entries)
