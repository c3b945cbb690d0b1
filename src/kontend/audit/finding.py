"""A verdict about one place in the code, and its fingerprint.

The fingerprint must survive what people do to a file without touching the write: lines moving, an import added, a
rename of the checkout. So it is made of the rule, the path as shown, the function and the code of the write, and a
counter among equals, and never of a line number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kontend.audit.site import Site


class Severity(StrEnum):
    """How bad: an error can lose somebody's write, a warning can under more assumptions, a note is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Order for thresholds: error is highest."""
        return {"error": 2, "warning": 1, "info": 0}[self.value]


class Confidence(StrEnum):
    """How sure the auditor is that the code means what the finding says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Finding:
    """One verdict. `also` are further rules that the same place breaks; a suppression may name any of them."""

    rule: str
    severity: Severity
    confidence: Confidence
    path: str
    line: int
    end_line: int
    message: str
    fix: str = ""
    function: str = ""
    code: str = ""
    also: tuple[str, ...] = ()
    fingerprint: str = ""
    #: How the explorer reproduced it: the file that replays it. Empty when it was not asked to, or could not.
    confirmed: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every rule name that this finding answers to."""
        return (self.rule, *self.also)


def about(
    site: Site, rule: str, severity: Severity, confidence: Confidence, message: str, fix: str = "", **more: object
) -> Finding:
    """Make a finding at the place of a site."""
    line = more.get("line")
    also = more.get("also")
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        path=site.path,
        line=line if isinstance(line, int) and line else site.line,
        end_line=site.end_line if not line else (line if isinstance(line, int) else site.end_line),
        message=message,
        fix=fix,
        function=site.function,
        code=site.code,
        also=also if isinstance(also, tuple) else (),
    )


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Give each finding its fingerprint, counting equals in the order of lines."""
    counted: dict[str, int] = {}
    done: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.path, each.line, each.rule)):
        code = "".join(finding.code.split())
        identity = "\x00".join((finding.rule, finding.path, finding.function, code))
        count = counted[identity] = counted.get(identity, -1) + 1
        digest = hashlib.sha256(f"{identity}\x00{count}".encode("utf-8", "replace")).hexdigest()
        done.append(replace(finding, fingerprint=digest[:32]))
    return done
