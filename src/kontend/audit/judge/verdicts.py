"""From classified sites to findings, under a policy.

One function a question, each reading only the `Site`. The lock comes first, because it decides whether a stale writer
is refused at all; then retries, errors, and the facts that the analysis noted on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

from kontend.audit.finding import Confidence, Finding, Severity, about
from kontend.audit.judge.sentences import SENTENCES
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy
from kontend.audit.site import BaseOrigin, ErrorUse, Fact, Lock, PatchType, Site, Target, Verb

_MERGES = (PatchType.MERGE, PatchType.STRATEGIC, PatchType.UNKNOWN, None)
_GO_FIX = "Use client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}) and let the conflict requeue."
_PYTHON_FIX = "Put the resourceVersion that was read into the body's metadata, and retry from a fresh read on 409."


def judge(site: Site, policy: Policy) -> list[Finding]:
    """Return the findings about one site."""
    return [finding for finding in _all(site, policy) if finding is not None]


def _all(site: Site, policy: Policy) -> Iterator[Finding | None]:
    yield _lock(site, policy)
    yield from _retry(site, policy)
    yield _error(site, policy)
    yield _full_update(site, policy)
    yield _forced_apply(site, policy)
    yield _main_resource(site, policy)
    for fact in site.facts:
        yield _fact(site, policy, fact)


def _make(
    site: Site, policy: Policy, rule: str, message: str, fix: str = "", *, severity: Severity | None = None,
    confidence: Confidence | None = None, line: int = 0, also: tuple[str, ...] = (),
) -> Finding | None:  # fmt: skip
    chosen = severity or policy.severity(rule)
    if chosen is None:
        return None
    return about(site, rule, chosen, confidence or RULES[rule].confidence, message, fix, line=line, also=also)


def _lock(site: Site, policy: Policy) -> Finding | None:
    if site.lock not in (Lock.UNLOCKED, Lock.MIXED):
        return None
    if site.via and site.language == "go" and site.base.origin is not BaseOrigin.HELPER:
        return None  # the helper makes the patch and changes nothing: its own line is where to lock
    if site.verb is Verb.CREATE_OR_UPDATE and site.patch_type is PatchType.MERGE:
        return _status_patch(site, policy) if site.status else None
    if site.verb in (Verb.UPDATE, Verb.CREATE_OR_UPDATE):
        rule = "status-read-modify-write-unguarded" if site.status else "update-without-version"
        said = (
            f"{_call(site)} sends {site.object or 'an object'} with no resourceVersion: the server "
            "checks nothing, and whatever was written since the read is replaced."
        )
        return _make(site, policy, rule, said, "Keep the resourceVersion of the object that was read.")
    if site.verb is not Verb.PATCH or (site.patch_type is PatchType.JSON and not site.status):
        return None
    if site.subresource == "status":
        return _status_patch(site, policy)
    if site.status and len(site.targets) == 1:
        return None
    if site.patch_type not in _MERGES or site.patch_type is PatchType.STRATEGIC:
        return None  # a strategic merge patch merges these lists by their keys
    return _metadata_patch(site, policy)


def _status_patch(site: Site, policy: Policy) -> Finding | None:
    fix = _GO_FIX if site.language == "go" else _PYTHON_FIX
    if any(fact.rule == "status-read-modify-write-unguarded" for fact in site.facts):
        return None  # the stronger finding speaks for this site
    owners = policy.owners.get(site.kind)
    if owners and not any(fnmatch(site.path, pattern) for pattern in owners):
        said = (
            f"{_call(site)} patches the status of {site.kind} without a lock; its declared owners are "
            f"{', '.join(owners)}."
        )
        return _make(site, policy, "status-of-another-controller", said, fix, severity=Severity.ERROR)
    if site.patch_type is PatchType.JSON:
        return None
    partial = _partial(site)
    severity = policy.partial_body if partial else policy.severity("status-patch-without-lock")
    if severity is None:
        return None
    if site.patch_type is PatchType.STRATEGIC and severity is Severity.ERROR and policy.name != "strict":
        severity = Severity.WARNING  # built-in kinds only: lists are merged by key, scalars are still overwritten
    if site.lock is Lock.MIXED and site.base.origin is BaseOrigin.HELPER and severity is Severity.ERROR:
        severity = Severity.WARNING  # a helper that locks on request: which it does here cannot be told
    also = ("list-merge-patch-without-lock",) if site.lists else ()
    if any(fact.rule == "list-merge-patch-without-lock" for fact in site.facts) and partial:
        return None  # the stronger finding speaks for this site
    if partial:
        said = (
            f"{_call(site)} sends {_fields(site)} with no resourceVersion: for these fields the last "
            "writer wins, whatever it had read."
        )
        if site.lists:
            said += f" {_lists(site)} replaced whole."
        return _make(
            site,
            policy,
            "status-patch-without-lock",
            said,
            fix,
            severity=severity,
            confidence=Confidence.MEDIUM,
            also=also,
        )
    said = (
        f"{_call(site)} from {_base(site)}: no resourceVersion is checked, so a write that landed "
        "since the read is overwritten in silence."
    )
    if site.lock is Lock.MIXED:
        said = (
            f"{_call(site)} from {_base(site)}: on this path no resourceVersion is checked, though other callers lock."
        )
    if site.lists:
        said += f" {_lists(site)} replaced whole: an element another writer added is dropped."
    else:
        said += " Two reconciles that read the same version both succeed, and the later one wins."
    return _make(site, policy, "status-patch-without-lock", said, fix, severity=severity, also=also)


def _partial(site: Site) -> bool:
    """Whether the body names its own fields instead of being a diff against something read."""
    return site.base.origin is BaseOrigin.BODY and not any(
        fact.rule == "status-read-modify-write-unguarded" for fact in site.facts
    )


def _metadata_patch(site: Site, policy: Policy) -> Finding | None:
    for target, rule, noun in (
        (Target.FINALIZERS, "finalizer-patch-without-lock", "metadata.finalizers"),
        (Target.OWNER_REFERENCES, "owner-reference-patch-without-lock", "metadata.ownerReferences"),
    ):
        if target in site.targets:
            said = (
                f"{_call(site)} from {_base(site)} replaces the whole list {noun}: an entry that another "
                "controller added since the read is dropped."
            )
            return _make(
                site,
                policy,
                rule,
                said,
                _GO_FIX if site.language == "go" else _PYTHON_FIX,
                also=("list-merge-patch-without-lock",),
            )
    if any(fact.rule == "list-merge-patch-without-lock" for fact in site.facts):
        return None
    if site.comment:
        return None
    said = f"{_call(site)} from {_base(site)} carries {_fields(site)} with no resourceVersion."
    return _make(site, policy, "spec-patch-without-lock", said, _GO_FIX if site.language == "go" else _PYTHON_FIX)


def _retry(site: Site, policy: Policy) -> Iterator[Finding | None]:
    retry = site.retry
    if retry is None or site.verb not in (Verb.UPDATE, Verb.PATCH):
        return
    checked = site.lock in (Lock.VERSIONED, Lock.LOCKED, Lock.MIXED)
    if not retry.rereads and checked and "onflict" in retry.wrapper:
        said = (
            f"{retry.wrapper} at :{retry.line} repeats {_call(site)} with the object read before the "
            "loop: every attempt sends the same stale resourceVersion."
        )
        yield _make(
            site,
            policy,
            "conflict-retry-stale-object",
            said,
            "Read the object again inside the closure, then change it there.",
        )
    if retry.blind:
        said = (
            f"{retry.wrapper} at :{retry.line} reads again, then `{retry.blind}` lays a status "
            "computed before the loop over it: the conflict that should have protected the other "
            "writer is answered by overwriting it."
        )
        yield _make(
            site,
            policy,
            "conflict-retry-blind-overwrite",
            said,
            "Recompute the status from the object that was just read, or copy only the fields this controller owns.",
        )
    elif retry.rereads and not retry.live and "onflict" in retry.wrapper and site.language == "go" and checked:
        said = (
            f"{retry.wrapper} at :{retry.line} reads again through the manager's client, which is a "
            "cache: it may return the version that just conflicted."
        )
        yield _make(
            site,
            policy,
            "conflict-retry-cached-read",
            said,
            "Read through mgr.GetAPIReader(), or return the conflict and let the queue retry.",
        )


def _error(site: Site, policy: Policy) -> Finding | None:
    if not site.status:
        return None
    if site.error is ErrorUse.DROPPED:
        return _make(
            site,
            policy,
            "status-write-error-ignored",
            f"The error of {_call(site)} is dropped: a conflict looks like success.",
            "Return the error, so that the reconcile runs again.",
        )
    if site.error is ErrorUse.LOGGED:
        return _make(
            site,
            policy,
            "status-write-error-logged-only",
            f"The error of {_call(site)} is only logged: after a conflict the status stays as it was.",
            "Return the error, or requeue.",
        )
    return None


def _full_update(site: Site, policy: Policy) -> Finding | None:
    if site.verb is not Verb.UPDATE or site.lock is not Lock.VERSIONED:
        return None
    if site.status:
        said = (
            f"{_call(site)} sends the whole status of {site.object or 'the object'}, fields of other "
            "writers included: a stale copy of theirs is refused or, after a re-read, overwritten."
        )
        return _make(site, policy, "status-full-update", said, "Patch the fields this writer owns.")
    if Target.FINALIZERS in site.targets or (
        Target.OWNER_REFERENCES in site.targets and not site.owned_child and Target.SPEC not in site.targets
    ):
        said = (
            f"{_call(site)} writes {', '.join(each.value for each in site.targets)} with a full "
            "update, which carries the spec as well."
        )
        return _make(site, policy, "metadata-full-update", said, "Use a merge patch with an optimistic lock.")
    return None


def _forced_apply(site: Site, policy: Policy) -> Finding | None:
    if (
        site.verb is Verb.APPLY
        and site.status
        and ("ForceOwnership" in site.code or "Force: true" in site.code or "force=True" in site.code)
    ):
        return _make(site, policy, "status-apply-forced", f"{_call(site)} forces ownership of every field it sends.")
    return None


def _main_resource(site: Site, policy: Policy) -> Finding | None:
    only_status = site.targets == (Target.STATUS,) and not site.subresource and site.direct
    if site.language == "go" and site.verb in (Verb.UPDATE, Verb.PATCH) and only_status:
        said = (
            f"{_call(site)} changes only status but goes to the main resource: where the kind has a "
            "status subresource the server drops the change."
        )
        return _make(site, policy, "status-on-main-resource", said, "Write through Status().")
    return None


def _fact(site: Site, policy: Policy, fact: Fact) -> Finding | None:
    said, fix = SENTENCES.get(fact.rule, ("{text}.", ""))
    place = fact.line if fact.rule in ("kopf-return-writes-status",) else 0
    also = ("status-patch-without-lock",) if fact.rule == "status-read-modify-write-unguarded" else ()
    return _make(site, policy, fact.rule, said.format(call=_call(site), text=fact.text), fix, line=place, also=also)


def _call(site: Site) -> str:
    if site.via:
        return f"{site.via} ({site.verb.value} of {'/'.join(each.value for each in site.targets)})"
    return site.call


def _base(site: Site) -> str:
    base = site.base
    if not base.line:
        if site.verb is Verb.CREATE_OR_UPDATE:
            return "the copy that CreateOrPatch takes"
        return "a base that is not in sight" if site.language == "go" else "a body without a version"
    text = base.text if len(base.text) <= 70 else base.text[:67] + "..."
    where = f"{base.path}:{base.line}" if base.path else f":{base.line}"
    return f"{text} at {where}" if base.line != site.line or base.path else text


def _fields(site: Site) -> str:
    return ", ".join(site.fields[:4]) or "its fields"


def _lists(site: Site) -> str:
    return f"{', '.join(site.lists[:3])} {'is' if len(site.lists) == 1 else 'are'}"
