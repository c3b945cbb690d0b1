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

from kontend.audit.site import Location, Site


class Severity(StrEnum):
    """The weight of a finding: an error loses a write, a warning does under more assumptions, a note may."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Order for thresholds: error is highest."""
        return {"error": 2, "warning": 1, "info": 0}[self.value]


class Confidence(StrEnum):
    """Confidence that the code means what the finding says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of bytes in a file."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, however many lines it has.

    `also` are further rules that the same place breaks; a suppression may name any of them. `related` are the lines
    that belong to the problem: the base, the read, callers of a helper, other writers. `steps` is the interleaving
    that hurts. `edits` is the fix where it is safe to apply.
    """

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
    related: tuple[Location, ...] = ()
    steps: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    #: The file that replays it, when the explorer reproduced it.
    confirmed: str = ""
    #: A trace of the same pattern in the explorer, a line for each step: the pattern was run, and not this code.
    trace: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every rule name that a suppression of this finding may use."""
        return (self.rule, *self.also)

    @property
    def places(self) -> tuple[Location, ...]:
        """The callers of a helper or the other writers that share this problem."""
        return tuple(place for place in self.related if place.note.startswith(("caller", "writer")))


def at_site(
    site: Site,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    message: str,
    fix: str = "",
    *,
    line: int = 0,
    also: tuple[str, ...] = (),
) -> Finding:
    """Make a finding at the place of a site, or on another line of its file."""
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        path=site.place.path,
        line=line or site.place.line,
        end_line=line or site.place.end_line,
        message=message,
        fix=fix,
        function=site.place.function,
        code=site.place.code,
        also=also,
    )


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Give each finding its fingerprint, counting equals in the order of lines."""
    counted: dict[str, int] = {}
    done: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.path, finding.line, finding.rule)):
        code = "".join(finding.code.split())
        identity = "\x00".join((finding.rule, finding.path, finding.function, code))
        count = counted[identity] = counted.get(identity, -1) + 1
        digest = hashlib.sha256(f"{identity}\x00{count}".encode("utf-8", "replace")).hexdigest()
        done.append(replace(finding, fingerprint=digest[:32]))
    return done
