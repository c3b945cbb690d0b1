"""The result of an audit: everything that the outputs print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kontend.audit.finding import Finding, Severity
from kontend.audit.site import Site
from kontend.audit.sources.files import Problem


@dataclass(frozen=True, slots=True)
class Report:
    """Sites, findings, and the files that could not be read.

    `sources` holds the text of every audited file by the path as shown. `notes` are things that a user should know
    about the audit itself, such as settings that came from the audited tree.
    """

    sites: list[Site]
    findings: list[Finding]
    problems: list[Problem] = field(default_factory=list)
    suppressed: int = 0
    known: int = 0
    unchanged: int = 0
    files: int = 0
    lines: int = 0
    policy: str = "default"
    notes: tuple[str, ...] = ()
    sources: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def worst(self) -> Severity | None:
        """Return the highest severity found."""
        return max((finding.severity for finding in self.findings), key=lambda severity: severity.rank, default=None)
