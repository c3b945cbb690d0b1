"""The findings about one site.

One function a question, each reading only the `Site`. The lock comes first, because it decides whether a stale writer
is refused at all; then retries, errors, and the facts that the analysis noted on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kontend.audit.finding import Finding, Severity
from kontend.audit.judge.locks import lock_verdict
from kontend.audit.judge.making import call_text, make
from kontend.audit.judge.sentences import SENTENCES
from kontend.audit.judge.writers import Writers
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy
from kontend.audit.site import ErrorUse, Fact, Lock, Notice, PatchType, Site, Target, Verb, resource_key

_FOLDED = ("status-of-another-controller",)
"""Facts that an unlocked status patch says itself, because locking it answers them."""


def judge(site: Site, policy: Policy, writers: Writers, subresources: Mapping[str, bool]) -> list[Finding]:
    """Return the findings about one site.

    `subresources` tells of resources whether they declare the status subresource; one that is not in it is not known.
    """
    return [finding for finding in _all(site, policy, writers, subresources) if finding is not None]


def _all(site: Site, policy: Policy, writers: Writers, subresources: Mapping[str, bool]) -> Iterator[Finding | None]:
    lock = lock_verdict(site, policy, writers)
    yield lock
    yield from _retry(site, policy, writers)
    yield _error(site, policy)
    yield _full_update(site, policy)
    yield _forced_apply(site, policy)
    yield _main_resource(site, policy, subresources)
    for fact in site.facts:
        if fact.rule in _FOLDED and lock is not None and lock.rule == "status-patch-without-lock":
            continue
        adopted = Target.OWNER_REFERENCES in site.content.targets and not site.content.removal
        if fact.rule == "list-replaced-without-lock" and (site.making.owned_child or adopted or site.place.comment):
            continue  # the spec of an owned child belongs to its owner
        # A later flush conflicts only where the kind has a writer whose locked base is older than this write.
        quiet = fact.rule == "status-write-in-task" and not writers.locking(site)
        yield _fact(site, policy, fact, severity=Severity.INFO if quiet else None)


def _retry(site: Site, policy: Policy, writers: Writers) -> Iterator[Finding | None]:
    retry = site.retry
    if retry is None or site.verb not in (Verb.UPDATE, Verb.PATCH):
        return
    on_conflict = retry.on_conflict
    checked = site.lock in (Lock.VERSIONED, Lock.LOCKED, Lock.MIXED)
    if retry.always:
        said = (
            f"{retry.wrapper} at :{retry.line} repeats {call_text(site)} after every error: invalid objects, missing "
            "rights and the function's own refusals are tried again too."
        )
        yield make(site, policy, "retry-predicate-always-true", said, "Retry on apierrors.IsConflict only.")
    merges = site.patch_type in (PatchType.MERGE, PatchType.STRATEGIC)
    checked_at_times = site.base.read_apart
    if (
        on_conflict
        and site.lock is Lock.UNLOCKED
        and site.verb is Verb.PATCH
        and merges
        and not (site.status or checked_at_times)
    ):
        said = (
            f"{retry.wrapper} at :{retry.line} waits for a conflict that {call_text(site)} cannot cause: the patch "
            "carries no resourceVersion."
        )
        yield make(site, policy, "conflict-retry-unlocked-patch", said, "Lock the patch, or remove the retry.")
    if not retry.rereads and checked and on_conflict:
        said = (
            f"{retry.wrapper} at :{retry.line} repeats {call_text(site)} with the object read before the "
            "loop: every attempt sends the same stale resourceVersion."
        )
        fix = "Read the object again inside the closure, then change it there."
        yield make(site, policy, "conflict-retry-stale-object", said, fix)
    if retry.blind and site.status and site.lock is not Lock.UNLOCKED:
        said = (
            f"{retry.wrapper} at :{retry.line} reads again, then `{retry.blind}` lays a status computed before the "
            "loop over it: the conflict that should have protected the other writer is answered by overwriting it."
        )
        fix = "Recompute the status from the object that was just read, or copy only the fields this controller owns."
        # A status that one controller alone writes conflicts with changes of spec and metadata only, which it keeps.
        alone = bool(site.resource.kind) and not writers.beside(site)
        yield make(site, policy, "conflict-retry-blind-overwrite", said, fix, severity=Severity.INFO if alone else None)
    elif retry.outdated and site.status and checked:
        said = (
            f"{retry.wrapper} at :{retry.line} reads {site.object} again, then sets `{retry.outdated}`, which was "
            "computed from the object before the loop: after a conflict the value belongs to the refused version."
        )
        fix = "Compute the value inside the closure, from the object that was just read."
        yield make(site, policy, "conflict-retry-blind-overwrite", said, fix)
    elif retry.rereads and not retry.live and on_conflict and site.place.language == "go" and checked:
        said = (
            f"{retry.wrapper} at :{retry.line} reads again through the manager's client, which is a "
            "cache: it may return the version that just conflicted."
        )
        fix = "Read through mgr.GetAPIReader(), or return the conflict and let the queue retry."
        yield make(site, policy, "conflict-retry-cached-read", said, fix)


def _error(site: Site, policy: Policy) -> Finding | None:
    if not site.status:
        return None
    if site.error is ErrorUse.DROPPED:
        said = f"The error of {call_text(site)} is dropped and success is reported: a conflict loses the status."
        return make(site, policy, "status-write-error-ignored", said, "Return the error.")
    if site.error is ErrorUse.LOGGED:
        said = f"The error of {call_text(site)} is only logged: after a conflict the status stays as it was."
        return make(site, policy, "status-write-error-logged-only", said, "Return the error, or requeue.")
    return None


def _full_update(site: Site, policy: Policy) -> Finding | None:
    if site.verb is not Verb.UPDATE or site.lock is not Lock.VERSIONED:
        return None
    if site.status:
        said = (
            f"{call_text(site)} sends the whole status of {site.object or 'the object'}, fields of other "
            "writers included: a stale copy of theirs is refused or, after a re-read, overwritten."
        )
        return make(site, policy, "status-full-update", said, "Patch the fields this writer owns.")
    if Target.FINALIZERS in site.content.targets or (
        Target.OWNER_REFERENCES in site.content.targets
        and not site.making.owned_child
        and Target.SPEC not in site.content.targets
    ):
        said = (
            f"{call_text(site)} writes {', '.join(target.value for target in site.content.targets)} with a full "
            "update, which carries the spec as well."
        )
        return make(site, policy, "metadata-full-update", said, "Use a merge patch with an optimistic lock.")
    return None


def _forced_apply(site: Site, policy: Policy) -> Finding | None:
    forced = any(word in site.place.code for word in ("ForceOwnership", "Force: true", "force=True"))
    if site.verb is Verb.APPLY and site.status and forced:
        said = f"{call_text(site)} forces ownership of every field it sends."
        return make(site, policy, "status-apply-forced", said)
    return None


def status_on_main_resource(site: Site) -> bool:
    """Decide whether a site sends status alone to the main resource of a kind that the tree declares."""
    if (
        site.resource.subresource
        or site.content.targets != (Target.STATUS,)
        or site.verb not in (Verb.UPDATE, Verb.PATCH)
    ):
        return False
    if site.client == "kopf" or site.lock is Lock.MERGED or site.patch_type is PatchType.APPLY:
        return False
    return bool(site.resource.kind) and site.direct and site.resource.local_kind


def _main_resource(site: Site, policy: Policy, subresources: Mapping[str, bool]) -> Finding | None:
    """Judge status sent to the main resource: the server drops it where the kind has the status subresource."""
    if not status_on_main_resource(site) or not subresources.get(resource_key(site.resource.kind)):
        return None
    said = (
        f"{call_text(site)} changes only status but goes to the main resource of {site.resource.kind}, which "
        "declares the status subresource: the server drops the change."
    )
    return make(site, policy, "status-on-main-resource", said, "Write to the status subresource.")


def _fact(site: Site, policy: Policy, fact: Fact, *, severity: Severity | None = None) -> Finding | None:
    said, fix = SENTENCES.get(fact.rule, ("{text}.", ""))
    line = fact.line if fact.rule == "kopf-return-writes-status" else 0
    also = ("status-patch-without-lock",) if fact.rule == "status-read-modify-write-unguarded" else ()
    message = said.format(call=call_text(site), text=fact.text)
    return make(
        site, policy, fact.rule, message[:1].upper() + message[1:], fix, line=line, also=also, severity=severity
    )


def judge_notice(notice: Notice, policy: Policy) -> Finding | None:
    """Return the finding about a place that is no write."""
    rule = RULES[notice.fact.rule]
    severity = policy.severity(rule.name)
    if severity is None:
        return None
    said, fix = SENTENCES[rule.name]
    message = said.format(text=notice.fact.text)
    return Finding(
        rule.name,
        severity,
        rule.confidence,
        notice.path,
        notice.line,
        notice.end_line,
        message[:1].upper() + message[1:],
        fix,
        notice.function,
        notice.code,
    )
