"""Rules that need more than one site: who else writes the same field, and how often one pass writes the same status."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from kontend.audit.finding import Finding, about
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy
from kontend.audit.site import Lock, Site, Verb

_UNORDERED = (Lock.UNLOCKED, Lock.MIXED, Lock.UNKNOWN)


def judge_together(sites: Iterable[Site], policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Return the findings that only show when sites are compared."""
    writing = [site for site in sites if site.status and site.verb in (Verb.UPDATE, Verb.PATCH)]
    return [*_shared_fields(writing, policy_for), *_repeated(writing, policy_for)]


def resource_key(kind: str) -> str:
    """Bring the names one resource goes by to one form: `DaskCluster`, `daskcluster.kubernetes.dask.org`,
    `daskclusters`.

    >>> {resource_key("DaskCluster"), resource_key("daskcluster.kubernetes.dask.org"), resource_key("daskclusters")}
    {'daskcluster'}
    """
    name = kind.split(".")[0].split("/")[0].lower()
    name = re.sub(r"[^a-z0-9]", "", name)
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _shared_fields(sites: list[Site], policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Group unordered writers by resource and field; two functions in one group are two writers."""
    groups: dict[tuple[str, str, str], list[Site]] = {}
    for site in sites:
        if site.lock not in _UNORDERED or not site.kind:
            continue
        for path in site.fields:
            if path.startswith("status.") and path != "status.conditions":
                groups.setdefault((site.language, resource_key(site.kind), path), []).append(site)
    found: list[Finding] = []
    told: set[tuple[str, int]] = set()
    for (_, _, path), writers in sorted(groups.items()):
        by_function = {(site.path, site.function): site for site in writers}
        if len(by_function) < 2:
            continue
        for site in by_function.values():
            if (site.path, site.line) in told:
                continue
            others = [each for each in by_function.values() if (each.path, each.function) != (site.path, site.function)]
            # A handler and the helper that it calls are one writer; so are all the handlers of one object's own life
            # cycle.
            if all(_one_writer(site, other) for other in others):
                continue
            severity = policy_for(site.path).severity("multi-writer-status-field")
            if severity is None:
                continue
            told.add((site.path, site.line))
            where = "; ".join(f"{each.function or 'module'} at {each.path}:{each.line}" for each in others[:3])
            said = (
                f"{path} of {site.kind} is also written by {where}. Neither write checks a version, so "
                "the order in which they land decides."
            )
            fix = "Give the field one writer, or lock both writes and recompute on conflict."
            found.append(
                about(
                    site,
                    "multi-writer-status-field",
                    severity,
                    RULES["multi-writer-status-field"].confidence,
                    said,
                    fix,
                )
            )
    return found


def _one_writer(site: Site, other: Site) -> bool:
    """Whether two functions run in one worker, one after the other: one Go package is one controller, kopf runs one
    object's handlers in turn."""
    if site.language == "go":
        return Path(site.path).parent == Path(other.path).parent
    return (
        bool(site.owner) and resource_key(site.owner) == resource_key(other.owner)
        if not _is_file(site)
        else site.path == other.path
    )


def _is_file(site: Site) -> bool:
    return site.owner.endswith(".py")


def _repeated(sites: list[Site], policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Several status writes of one object in one function."""
    groups: dict[tuple[str, str, str], list[Site]] = {}
    for site in sites:
        if site.language == "go" and site.function:
            groups.setdefault((site.path, site.function, site.object), []).append(site)
    found: list[Finding] = []
    for (_, function, target), writes in sorted(groups.items()):
        if len(writes) < 2:
            continue
        site = writes[-1]
        severity = policy_for(site.path).severity("multiple-status-writes-per-reconcile")
        if severity is not None:
            lines = ", ".join(str(each.line) for each in writes)
            said = (
                f"{function} writes the status of {target} in {len(writes)} places (lines {lines}); a "
                "crash between two leaves half of it."
            )
            rule = RULES["multiple-status-writes-per-reconcile"]
            found.append(
                about(
                    site, rule.name, severity, rule.confidence, said, "Change the status in memory and flush it once."
                )
            )
    return found
