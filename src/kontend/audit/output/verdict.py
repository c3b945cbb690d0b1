"""Verdicts for the audit table, each with its reason, and the counts of the summary line."""

from __future__ import annotations

from kontend.audit.finding import Finding, Severity
from kontend.audit.report import Report
from kontend.audit.site import Lock, Provenance, Site, Target, Verb


class Verdicts:
    """The findings of a report by place, to judge its sites in one pass."""

    def __init__(self, report: Report) -> None:
        self._by_place: dict[tuple[str, int], Finding] = {}
        for finding in report.findings:
            for place in ((finding.path, finding.line), *((at.path, at.line) for at in finding.places)):
                known = self._by_place.setdefault(place, finding)
                if finding.severity.rank > known.severity.rank:
                    self._by_place[place] = finding

    def of(self, site: Site) -> tuple[str, str]:
        """Return the verdict about a site and its reason."""
        worst = self._by_place.get((site.place.path, site.place.line))
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
            ", verify provenance" if stale and Target.STATUS in site.content.targets else ""
        )
    if site.lock in (Lock.UNLOCKED, Lock.MIXED):
        return (
            "unlocked",
            site.place.comment or f"writes {', '.join(site.content.fields[:3]) or 'fields that are not in sight'}",
        )
    return "unknown", "base not in sight"


def counts(report: Report) -> dict[str, int]:
    """Count the sites as the summary line does; status writes behind helpers count too."""
    direct = [site for site in report.sites if site.direct]
    status = [site for site in direct if _writes_status(site)]
    others = [site for site in direct if not _writes_status(site)]
    behind = [site for site in report.sites if not site.direct]
    counted = {
        "status": len(status),
        "locked": sum(site.lock in (Lock.LOCKED, Lock.MERGED) for site in status),
        "unlocked": sum(site.lock in (Lock.UNLOCKED, Lock.MIXED) for site in status),
        "versioned": sum(site.lock is Lock.VERSIONED for site in status),
        "applied": sum(site.lock is Lock.OWNED for site in status),
        "unknown": sum(site.lock in (Lock.UNKNOWN, Lock.NONE) for site in status),
        "other": len(others),
        "helpers": len(behind),
        "status behind helpers": sum(_writes_status(site) for site in behind),
    }
    for verb in Verb:
        counted[f"other {verb.value}"] = sum(site.verb is verb for site in others)
    return counted


def _writes_status(site: Site) -> bool:
    return site.status and site.verb in (Verb.UPDATE, Verb.PATCH, Verb.APPLY, Verb.CREATE_OR_UPDATE)


def summary(report: Report) -> str:
    """Return the summary line: `5 status writes: 3 locked, 2 unlocked. 31 other writes: ...`."""
    counted = counts(report)
    words = {
        "locked": "locked",
        "unlocked": "unlocked",
        "versioned": "full update, version checked",
        "applied": "applied",
        "unknown": "base not in sight",
    }
    parts = ", ".join(f"{counted[key]} {word}" for key, word in words.items() if counted[key])
    verbs = ", ".join(
        f"{counted[f'other {verb.value}']} {verb.value}" for verb in Verb if counted[f"other {verb.value}"]
    )
    said = (
        f"{count(counted['status'], 'status write')}{': ' + parts if parts else ''}. "
        f"{count(counted['other'], 'other write')}{': ' + verbs if verbs else ''}."
    )
    if counted["helpers"]:
        said += f" {count(counted['helpers'], 'call')} of helpers that write"
        said += f", {counted['status behind helpers']} of them status." if counted["status behind helpers"] else "."
    return said


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "file"), count(2, "file")
    ('1 file', '2 files')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
