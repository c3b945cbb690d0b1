"""The audit itself: read, classify, judge, suppress, compare. Everything the outputs print is in the `Report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kontend.audit.finding import Finding, Severity, with_fingerprints
from kontend.audit.judge.verdicts import judge
from kontend.audit.judge.writers import judge_together
from kontend.audit.settings.baseline import read_baseline
from kontend.audit.settings.config import Settings
from kontend.audit.settings.policy import Policy
from kontend.audit.site import Role, Site
from kontend.audit.sources.files import Problem, Sources, read_sources
from kontend.audit.sources.git import added, changed_lines
from kontend.audit.sources.suppression import apply_suppressions, read_suppressions


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found."""

    sites: list[Site]
    findings: list[Finding]
    problems: list[Problem] = field(default_factory=list)
    suppressed: int = 0
    known: int = 0
    unchanged: int = 0
    files: int = 0
    lines: int = 0
    policy: str = "default"

    def worst(self) -> Severity | None:
        """Return the highest severity found."""
        return max((finding.severity for finding in self.findings), key=lambda each: each.rank, default=None)


def audit(
    paths: Sequence[str],
    settings: Settings,
    *,
    baseline: str | None = None,
    diff: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Audit files and directories under the given settings."""
    sources = read_sources(paths, exclude=settings.exclude, tests=settings.include_tests)
    sites = _shown(classify_sources(sources, tell))
    if not settings.include_generated:
        sites = [site for site in sites if site.role is not Role.GENERATED]
    policies: dict[str, Policy] = {}

    def policy_for(path: str) -> Policy:
        if path not in policies:
            policies[path] = settings.for_path(path)
        return policies[path]

    findings = [finding for site in sites for finding in judge(site, policy_for(site.path))]
    findings += judge_together(sites, policy_for)
    comments = read_suppressions({_short(path): text for path, text in (sources.go | sources.python).items()})
    findings, suppressed = apply_suppressions(_unique(findings), comments, settings.policy)
    findings = with_fingerprints(findings)
    known = unchanged = 0
    if baseline is not None:
        old = read_baseline(baseline)
        fresh = [finding for finding in findings if finding.fingerprint not in old]
        findings, known = fresh, len(findings) - len(fresh)
    if diff is not None:
        bases = {(site.path, site.line): (site.base.path, site.base.line) for site in sites if site.base.line}
        kept = added(findings, changed_lines(diff, paths[0]), bases)
        findings, unchanged = kept, len(findings) - len(kept)
    return Report(
        sites=sites,
        findings=findings,
        problems=sources.problems,
        suppressed=suppressed,
        known=known,
        unchanged=unchanged,
        files=len(sources.go) + len(sources.python),
        lines=sources.lines,
        policy=settings.policy.name,
    )


def classify_sources(sources: Sources, tell: Callable[[str], None] = lambda _: None) -> list[Site]:
    """Return the sites of all sources in order; the parsers are imported only for the languages that are there."""
    sites: list[Site] = []
    if sources.go:
        try:
            from kontend.audit.go.scan import scan as scan_go
        except ImportError as error:
            sources.problems.append(
                Problem(
                    "Go files", f"not audited: {error.name} is not installed (pip install tree-sitter tree-sitter-go)"
                )
            )
        else:
            sites += scan_go(sources.go, sources.roles, sources.problems, tell)
    if sources.python:
        from kontend.audit.python.scan import scan as scan_python

        sites += scan_python(sources.python, sources.roles, sources.manifests, sources.problems, tell)
    return sorted(sites, key=lambda site: (site.path, site.line, bool(site.via)))


def _unique(findings: list[Finding]) -> list[Finding]:
    seen: dict[tuple[str, int, str], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.path, finding.line, finding.rule), finding)
    return list(seen.values())


def _shown(sites: list[Site]) -> list[Site]:
    """Bring paths to the form they are shown in: relative to the working directory where that is shorter."""
    return [
        replace(site, path=_short(site.path), base=replace(site.base, path=_short(site.base.path))) for site in sites
    ]


def _short(path: str) -> str:
    if not path or not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
