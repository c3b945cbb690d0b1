"""One finding for one problem.

A helper that patches without a lock is wrong once, at its own line, and not again at each of its callers. So findings
at calls of a helper move to the helper's write and become places of that finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kontend.audit.finding import Finding, Severity
from kontend.audit.site import Location, Lock, Site

_OF_THE_HELPER = {
    "status-patch-without-lock",
    "finalizer-patch-without-lock",
    "owner-reference-patch-without-lock",
    "spec-patch-without-lock",
    "update-without-version",
}


_COVERING = {
    "counter-without-lock",
    "multi-writer-status-field",
    "lock-used-by-some-writers",
    "kopf-return-writes-status",
    "status-read-modify-write-unguarded",
}


def fold(findings: Iterable[Finding], sites: Iterable[Site]) -> list[Finding]:
    """Fold findings at calls of helpers into the helper's write; drop repetitions of a rule on a line."""
    by_place: dict[tuple[str, int], Site] = {}
    calling: dict[tuple[str, int], Site] = {}
    for site in sites:
        (calling if site.route.via else by_place).setdefault((site.place.path, site.place.line), site)
    kept: dict[tuple[str, int, str], Finding] = {}
    patched: set[tuple[str, str, str, str]] = set()
    moved: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in findings:
        caller = calling.get((finding.path, finding.line))
        if (
            caller is not None
            and finding.rule in _OF_THE_HELPER
            and (caller.route.helper.path, caller.route.helper.line) in by_place
        ):
            moved.setdefault((caller.route.helper.path, caller.route.helper.line, finding.rule), []).append(finding)
            continue
        write = by_place.get((finding.path, finding.line))
        if write is not None and write.lock is Lock.MERGED:  # a patch helper is called wherever a function ends
            problem = (finding.path, finding.function, write.object, finding.rule)
            if problem in patched:
                continue
            patched.add(problem)
        kept.setdefault((finding.path, finding.line, finding.rule), finding)
    for (path, line, rule), callers in moved.items():
        direct = [caller for caller in callers if not calling[caller.path, caller.line].route.chain] or callers
        places = tuple(Location(caller.path, caller.line, f"caller {caller.function}") for caller in direct)
        own = kept.get((path, line, rule))
        if own is None:
            own = _at_helper(by_place[path, line], callers)
        worst = max([own, *callers], key=lambda finding: finding.severity.rank)
        said = own.message + f" {_called(direct)}"
        kept[path, line, rule] = replace(
            own, message=said, severity=worst.severity, related=(*own.related, *places[:50])
        )
    return _one_base(_uncovered(list(kept.values())), by_place)


def _uncovered(findings: list[Finding]) -> list[Finding]:
    """Leave out the note about an unlocked body where another finding about the same lock says more."""
    covering: dict[tuple[str, int], int] = {}
    for position, finding in enumerate(findings):
        if finding.rule in _COVERING:
            for place in ((finding.path, finding.line), *((at.path, at.line) for at in finding.places)):
                covering.setdefault(place, position)
    kept = list(findings)
    for finding in findings:
        place = (finding.path, finding.line)
        if finding.rule == "status-patch-without-lock" and finding.severity is Severity.INFO and place in covering:
            kept.remove(finding)
            other = findings[covering[place]]
            if other in kept and finding.rule not in other.also:
                kept[kept.index(other)] = replace(other, also=(*other.also, finding.rule))
    return kept


def _one_base(findings: list[Finding], by_place: dict[tuple[str, int], Site]) -> list[Finding]:
    """Make one finding of the writes in one function that share a base: locking that base fixes them all."""
    first: dict[tuple[str, str, str, int, str], int] = {}
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.path, finding.line, finding.rule)):
        site = by_place.get((finding.path, finding.line))
        if (
            site is None
            or finding.rule not in _OF_THE_HELPER
            or not site.base.line
            or site.base.line == site.place.line
        ):
            kept.append(finding)
            continue
        key = (
            finding.rule,
            site.base.path or site.place.path,
            finding.function,
            site.base.line,
            finding.severity.value,
        )
        if key not in first:
            first[key] = len(kept)
            kept.append(finding)
            continue
        earlier = kept[first[key]]
        place = Location(finding.path, finding.line, "caller of the same base")
        kept[first[key]] = replace(
            earlier,
            message=f"{earlier.message} The same base is used at :{finding.line}.",
            related=(*earlier.related, place),
        )
    return kept


def _at_helper(site: Site, callers: list[Finding]) -> Finding:
    first = callers[0]
    return replace(
        first,
        path=site.place.path,
        line=site.place.line,
        end_line=site.place.end_line,
        function=site.place.function,
        code=site.place.code,
        edits=(),
    )


def _called(callers: list[Finding]) -> str:
    shown = ", ".join(f"{caller.path}:{caller.line}" for caller in callers[:3])
    more = f" and {len(callers) - 3} more" if len(callers) > 3 else ""
    return f"Called from {shown}{more}."
