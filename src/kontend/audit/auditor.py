"""The audit itself: read, classify, judge, suppress, fold, compare. Everything the outputs print is in the `Report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kontend.audit.finding import Finding, Severity, with_fingerprints
from kontend.audit.judge.fixes import edits_for
from kontend.audit.judge.fold import fold
from kontend.audit.judge.interleaving import steps_for
from kontend.audit.judge.verdicts import judge, judge_notice, status_on_main_resource
from kontend.audit.judge.writers import Writers, judge_together
from kontend.audit.report import Report
from kontend.audit.settings.baseline import read_baseline
from kontend.audit.settings.config import Settings
from kontend.audit.settings.policy import Policy
from kontend.audit.settings.suppression import apply_suppressions, read_suppressions
from kontend.audit.site import Location, Notice, Role, Site, resource_key
from kontend.audit.sources.crds import status_subresources
from kontend.audit.sources.files import Problem, Sources, read_sources
from kontend.audit.sources.git import Revision

Progress = Callable[[str], None]


def audit(
    paths: Sequence[str],
    settings: Settings,
    *,
    baseline: str | None = None,
    diff: str | None = None,
    progress: Progress = lambda _: None,
) -> Report:
    """Audit files and directories under the given settings.

    With `diff`, the tree is audited as it is and as it was at a git revision, and what was there before is left out.
    """
    revision = Revision.resolve(diff, paths[0]) if diff is not None else None
    report = _audit(paths, settings, progress)
    if baseline is not None:
        old = read_baseline(baseline)
        fresh = [finding for finding in report.findings if finding.fingerprint not in old]
        report = replace(report, findings=fresh, known=len(report.findings) - len(fresh))
    if revision is not None:
        kept = _since(report, revision, paths, settings)
        report = replace(report, findings=kept, unchanged=len(report.findings) - len(kept))
    return report


def _audit(paths: Sequence[str], settings: Settings, progress: Progress) -> Report:
    sources = read_sources(paths, exclude=settings.exclude, tests=settings.include_tests)
    classified, notices = classify_sources(sources, progress)
    sites = _shown(classified)
    if not settings.include_generated:
        sites = [site for site in sites if site.place.role is not Role.GENERATED]
    shown = sources.go.shown(sources.python, _short)
    findings = _judged(sites, notices, settings, sources)
    comments = read_suppressions(shown)
    findings, suppressed = apply_suppressions(_once(findings), comments, settings.policy)
    findings = [finding for finding in _completed(fold(findings, sites), sites, shown) if settings.selects(finding)]
    return Report(
        sites=sites,
        findings=with_fingerprints(findings),
        problems=sources.problems,
        suppressed=suppressed,
        files=len(sources.go) + len(sources.python),
        lines=sources.lines,
        policy=settings.policy.name,
        notes=settings.notes(),
        sources=shown,
    )


def _judged(sites: list[Site], notices: list[Notice], settings: Settings, sources: Sources) -> list[Finding]:
    policies: dict[str, Policy] = {}

    def policy_for(path: str) -> Policy:
        if path not in policies:
            policies[path] = settings.for_path(path)
        return policies[path]

    writers = Writers(sites)
    asked = {resource_key(site.resource.kind) for site in sites if status_on_main_resource(site)}
    subresources = status_subresources(sources.manifests, sources.go, asked)
    findings = [
        finding for site in sites for finding in judge(site, policy_for(site.place.path), writers, subresources)
    ]
    noticed = [
        judge_notice(replace(notice, path=_short(notice.path)), policy_for(_short(notice.path))) for notice in notices
    ]
    return [*findings, *judge_together(writers, sites, policy_for), *filter(None, noticed)]


def _completed(findings: list[Finding], sites: list[Site], sources: Mapping[str, bytes]) -> list[Finding]:
    """Add the lines, the steps and the fix to each finding."""
    by_place: dict[tuple[str, int], Site] = {}
    for site in sites:
        by_place.setdefault((site.place.path, site.place.line), site)
    completed: list[Finding] = []
    for finding in findings:
        place = by_place.get((finding.path, finding.line))
        if place is not None:
            related = _lines(place, finding)
            finding = replace(finding, related=(*finding.related, *related))
            finding = replace(finding, steps=steps_for(finding, place), edits=edits_for(finding, place, sources))
        completed.append(finding)
    return completed


def _lines(site: Site, finding: Finding) -> list[Location]:
    lines = []
    if site.read_line:
        lines.append(Location(site.place.path, site.read_line, "read"))
    if site.base.line and (site.base.path or site.place.path, site.base.line) != (site.place.path, site.place.line):
        lines.append(Location(site.base.path or site.place.path, site.base.line, "base"))
    lines += [
        Location(site.place.path, fact.line, "see")
        for fact in site.facts
        if fact.rule == finding.rule and fact.line not in (site.place.line, site.base.line, site.read_line)
    ]
    return lines


def _since(report: Report, revision: Revision, paths: Sequence[str], settings: Settings) -> list[Finding]:
    """Return the findings that the tree did not have at a revision, wherever the change that causes them stands."""
    with revision.checked_out(paths) as (directory, old_paths):
        before = _audit(old_paths, settings, lambda _: None) if old_paths else Report([], [])
        old = {
            finding.fingerprint: {place.note for place in finding.places}
            for finding in with_fingerprints(
                replace(finding, path=revision.renamed(os.path.relpath(finding.path, directory)))
                for finding in before.findings
            )
        }
    now = with_fingerprints(replace(finding, path=revision.relative(finding.path)) for finding in report.findings)
    fingerprints = {(finding.path, finding.line, finding.rule): finding.fingerprint for finding in now}
    kept = []
    for finding in report.findings:
        fingerprint = fingerprints[revision.relative(finding.path), finding.line, finding.rule]
        places = {place.note for place in finding.places}
        if fingerprint not in old or not places <= old[fingerprint]:
            kept.append(finding)
    return kept


def classify_sources(sources: Sources, progress: Progress = lambda _: None) -> tuple[list[Site], list[Notice]]:
    """Return the sites of all sources in order, and what was noticed apart from them.

    The parsers are imported only for the languages that are there.
    """
    sites: list[Site] = []
    notices: list[Notice] = []
    if sources.go:
        try:
            from kontend.audit.go.scan import scan as scan_go
        except ImportError as error:
            reason = f"not audited: {error.name} is not installed (pip install tree-sitter tree-sitter-go)"
            sources.problems.append(Problem("Go files", reason, incomplete=True))
        else:
            sites, notices = scan_go(sources.go, sources.roles, sources.problems, progress)
    if sources.python:
        from kontend.audit.python.scan import scan as scan_python

        sites += scan_python(sources.python, sources.roles, sources.problems, progress)
    return sorted(
        sites, key=lambda site: (site.place.path, site.place.line, bool(site.route.via), site.place.code)
    ), notices


def _once(findings: list[Finding]) -> list[Finding]:
    """Keep the worst finding of a rule on a line."""
    worst: dict[tuple[str, int, str], Finding] = {}
    for finding in findings:
        known = worst.setdefault((finding.path, finding.line, finding.rule), finding)
        if finding.severity.rank > known.severity.rank:
            worst[finding.path, finding.line, finding.rule] = finding
    return list(worst.values())


def _shown(sites: list[Site]) -> list[Site]:
    """Bring paths to the form they are shown in: relative to the working directory where that is shorter."""
    return [
        replace(
            site,
            place=replace(site.place, path=_short(site.place.path)),
            base=replace(site.base, path=_short(site.base.path)),
            route=replace(
                site.route,
                helper=replace(site.route.helper, path=_short(site.route.helper.path)),
                chain=tuple(replace(place, path=_short(place.path)) for place in site.route.chain),
            ),
        )
        for site in sites
    ]


def _short(path: str) -> str:
    if not path or not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def at_least(findings: Sequence[Finding], severity: Severity | None) -> list[Finding]:
    """Return the findings at or above a severity; None means none of them."""
    return [finding for finding in findings if severity is not None and finding.severity.rank >= severity.rank]
