"""The word a reviewer would put in the last column of an audit table, and the reason beside it."""

from __future__ import annotations

from kontend.audit.auditor import Report
from kontend.audit.finding import Finding, Severity
from kontend.audit.site import Lock, Provenance, Site, Target, Verb


def findings_of(report: Report, site: Site) -> list[Finding]:
    """Return the findings at a site, worst first."""
    here = [each for each in report.findings if each.path == site.path and each.line == site.line]
    return sorted(here, key=lambda each: -each.severity.rank)


def verdict(report: Report, site: Site) -> tuple[str, str]:
    """Return a verdict and its reason."""
    here = findings_of(report, site)
    worst = here[0] if here else None
    if worst is not None and worst.severity is Severity.ERROR:
        return "VIOLATION", worst.rule
    if worst is not None and worst.severity is Severity.WARNING:
        hazard = worst.rule.endswith("-patch-without-lock")
        return ("array hazard" if hazard else "warning"), worst.rule
    return _quiet(site)


def _quiet(site: Site) -> tuple[str, str]:
    if site.lock is Lock.LOCKED:
        return "OK", "locked" if site.verb is not Verb.DELETE else "preconditions"
    if site.lock is Lock.MERGED:
        return "OK", "library merges conditions and locks them"
    if site.verb is Verb.APPLY:
        return "OK", "server-side apply"
    if site.verb is Verb.CREATE:
        return "n/a", "create"
    if site.verb is Verb.DELETE:
        return "n/a", "no uid precondition"
    if site.lock is Lock.VERSIONED:
        stale = site.provenance in (Provenance.LIST_ITEM, Provenance.PARAMETER, Provenance.UNKNOWN)
        return "OK", "PUT, resourceVersion checked" + (
            ", verify provenance" if stale and Target.STATUS in site.targets else ""
        )
    if site.lock is Lock.UNLOCKED:
        return "intentional", site.comment or "unlocked, own fields only"
    return "unknown", "base not in sight"


def counts(report: Report) -> dict[str, int]:
    """Count the sites the way the summary line speaks of them."""
    direct = [site for site in report.sites if site.direct]
    status = [site for site in direct if _writes_status(site)]
    others = [site for site in direct if not _writes_status(site)]
    found = {
        "status": len(status),
        "locked": sum(site.lock in (Lock.LOCKED, Lock.MERGED) for site in status),
        "unlocked": sum(site.lock in (Lock.UNLOCKED, Lock.MIXED) for site in status),
        "versioned": sum(site.lock is Lock.VERSIONED for site in status),
        "applied": sum(site.lock is Lock.OWNED for site in status),
        "unknown": sum(site.lock in (Lock.UNKNOWN, Lock.NONE) for site in status),
        "other": len(others),
        "helpers": len(report.sites) - len(direct),
    }
    for verb in Verb:
        found[f"other {verb.value}"] = sum(site.verb is verb for site in others)
    return found


def _writes_status(site: Site) -> bool:
    return site.status and site.verb in (Verb.UPDATE, Verb.PATCH, Verb.APPLY, Verb.CREATE_OR_UPDATE)


def summary(report: Report) -> str:
    """Return the summary line: `5 status writes: 3 locked, 2 unlocked. 31 other writes: ...`."""
    found = counts(report)
    words = {
        "locked": "locked",
        "unlocked": "unlocked",
        "versioned": "full update, version checked",
        "applied": "applied",
        "unknown": "not told",
    }
    parts = ", ".join(f"{found[key]} {word}" for key, word in words.items() if found[key])
    verbs = ", ".join(f"{found[f'other {verb.value}']} {verb.value}" for verb in Verb if found[f"other {verb.value}"])
    said = (
        f"{_count(found['status'], 'status write')}{': ' + parts if parts else ''}. "
        f"{_count(found['other'], 'other write')}{': ' + verbs if verbs else ''}."
    )
    if found["helpers"]:
        said += f" {_count(found['helpers'], 'call')} of helpers that write."
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
