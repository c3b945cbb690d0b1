"""Findings about a site, and the words that all of them share."""

from __future__ import annotations

from kontend.audit.finding import Confidence, Finding, Severity, at_site
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy
from kontend.audit.site import Site, Verb


def make(
    site: Site,
    policy: Policy,
    rule: str,
    message: str,
    fix: str = "",
    *,
    severity: Severity | None = None,
    confidence: Confidence | None = None,
    line: int = 0,
    also: tuple[str, ...] = (),
) -> Finding | None:
    """Make a finding with the severity that the policy gives to its rule; None where the policy switches it off."""
    ruled = policy.severity(rule)
    chosen = severity if severity is not None and rule not in policy.overridden else ruled
    if chosen is None:
        return None
    return at_site(site, rule, chosen, confidence or RULES[rule].confidence, message, fix, line=line, also=also)


def call_text(site: Site) -> str:
    """Return the write in short; a call of a helper says what the helper writes."""
    if site.route.via:
        return f"{site.route.via} ({site.verb.value} of {'/'.join(target.value for target in site.content.targets)})"
    return site.call


def base_text(site: Site) -> str:
    """Return the base of a patch and its line."""
    base = site.base
    if not base.line:
        if site.verb is Verb.CREATE_OR_UPDATE:
            return "the copy that CreateOrPatch takes"
        return "a base that is not in sight" if site.place.language == "go" else "a body without a version"
    text = base.text if len(base.text) <= 70 else base.text[:67] + "..."
    where = f"{base.path}:{base.line}" if base.path else f":{base.line}"
    return f"{text} at {where}" if base.line != site.place.line or base.path else text


def field_text(site: Site) -> str:
    """Return the fields that a write carries, at most four."""
    shown = ", ".join(site.content.fields[:4]) or "its fields"
    if "status.conditions" in site.content.fields and site.content.conditions:
        shown = shown.replace("status.conditions", f"status.conditions[{', '.join(site.content.conditions[:3])}]")
    return shown + (f" and {len(site.content.fields) - 4} more" if len(site.content.fields) > 4 else "")


def list_text(site: Site) -> str:
    """Return the lists that a write carries, with the verb that follows."""
    return f"{', '.join(site.content.lists[:3])} {'is' if len(site.content.lists) == 1 else 'are'}"
