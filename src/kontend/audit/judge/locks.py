"""Verdicts about the lock: does the server refuse a writer whose read is stale?"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from fnmatch import fnmatch

from kontend.audit.finding import Confidence, Finding, Severity
from kontend.audit.judge.making import base_text, call_text, field_text, list_text, make
from kontend.audit.judge.writers import Writers
from kontend.audit.settings.policy import Policy
from kontend.audit.site import BaseOrigin, Lock, Obstacle, PatchType, Site, Target, Verb

_MERGES = (PatchType.MERGE, PatchType.UNKNOWN, None)
GO_FIX = "Use client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}) and let the conflict requeue."
GO_NEW_BASE = "Take the base from the object as last read or written: a lock on this base would refuse every attempt. "
GO_KEEP_GUARD = (
    "Keep this base for the code that reads patch.Data, or that is not in sight and may read it: under a lock the data "
    "always holds a resourceVersion and is never empty. "
    "Send a second base, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), and "
    "let the conflict requeue."
)
GO_READ_FIRST = "Read the object before taking the base: one that was built here has no resourceVersion to lock on. "
GO_RETURN_ERROR = "Return the error of this write first, in its callers as well: a conflict that is dropped loses it. "
PYTHON_FIX = "Put the resourceVersion that was read into the body's metadata, and retry from a fresh read on 409."
_REMOVED = (
    " Entries are only taken away, from an object that is being deleted: the server refuses to add finalizers then, so "
    "a stale list that would bring one back is refused and the next attempt reads again. Nothing is lost."
)

_FIRST = {
    Obstacle.STALE_BASE: GO_NEW_BASE,
    Obstacle.READ_APART: GO_NEW_BASE,
    Obstacle.NO_VERSION: GO_READ_FIRST,
    Obstacle.ERROR_LOST: GO_RETURN_ERROR,
}


def fix_for(site: Site) -> str:
    """Return the advice for an unlocked patch in the site's language."""
    if site.place.language == "go" and site.base.line:
        if site.obstacle is Obstacle.DATA_READ:
            return GO_KEEP_GUARD
        return _FIRST.get(site.obstacle, "") + GO_FIX
    return GO_FIX if site.place.language == "go" else PYTHON_FIX


def lock_verdict(site: Site, policy: Policy, writers: Writers) -> Finding | None:
    """Judge whether a stale writer is refused."""
    if site.lock is Lock.MERGED:
        return _library_patch(site, policy)
    if site.lock not in (Lock.UNLOCKED, Lock.MIXED):
        return None
    if site.route.via and site.place.language == "go" and site.base.origin is not BaseOrigin.HELPER:
        return None  # the helper makes the patch and changes nothing: its own line is where to lock
    if site.route.of_client and (site.verb is Verb.UPDATE or site.base.origin is BaseOrigin.PARAMETER):
        return None  # a client passes on what its callers made; they are judged
    if site.verb is Verb.CREATE_OR_UPDATE and site.patch_type is PatchType.MERGE:
        return _status_patch(site, policy, writers) if site.status else _metadata_patch(site, policy)
    if site.verb in (Verb.UPDATE, Verb.CREATE_OR_UPDATE):
        return _update(site, policy)
    if site.verb is not Verb.PATCH or (site.patch_type is PatchType.JSON and not site.status):
        return None
    if site.resource.subresource == "status":
        return _status_patch(site, policy, writers)
    if site.status and len(site.content.targets) == 1:
        return None
    if site.patch_type not in _MERGES or (site.patch_type is PatchType.UNKNOWN and site.place.language == "go"):
        return None  # a strategic merge patch merges these lists by their keys
    return _metadata_patch(site, policy)


def _update(site: Site, policy: Policy) -> Finding | None:
    if site.resource.subresource == "scale":
        return None  # the number of replicas is all that it replaces
    rule = "status-read-modify-write-unguarded" if site.status else "update-without-version"
    said = f"{call_text(site)} sends {site.object or 'an object'} with no resourceVersion: "
    severity = None
    if site.resource.custom:
        said += f"{site.resource.kind} is a custom resource, and the server refuses every such update with 422."
        severity = Severity.ERROR
    elif (
        site.making.owner_reference or (site.making.replaces_created and site.resource.custom is False)
    ) and not site.status:
        said += "the server checks nothing and replaces what is stored. It is a child that this program owns whole."
        severity = Severity.INFO
    else:
        said += (
            "for kinds that allow it the server checks nothing and replaces what is stored; custom resources are "
            "refused with 422."
        )
    fix = "Read the object and keep its resourceVersion, or use server-side apply."
    return make(site, policy, rule, said, fix, severity=severity)


def _library_patch(site: Site, policy: Policy) -> Finding | None:
    """Judge a patch helper that locks conditions only: finalizers and owner references go in an unlocked patch."""
    if not {Target.FINALIZERS, Target.OWNER_REFERENCES} & set(site.content.targets):
        return None
    return _metadata_patch(site, policy, said="the helper locks conditions only; its patch of metadata")


def _status_patch(site: Site, policy: Policy, writers: Writers) -> Finding | None:
    if any(fact.rule == "status-read-modify-write-unguarded" for fact in site.facts):
        return None  # the stronger finding covers this site
    owners = policy.owners.get(site.resource.kind)
    if owners and not any(fnmatch(site.place.path, pattern) for pattern in owners):
        said = (
            f"{call_text(site)} patches the status of {site.resource.kind} without a lock; its declared owners are "
            f"{', '.join(owners)}."
        )
        return make(site, policy, "status-of-another-controller", said, fix_for(site), severity=Severity.ERROR)
    if site.patch_type is PatchType.JSON:
        return None
    partial = site.base.origin is BaseOrigin.BODY
    if partial and any(fact.rule == "list-merge-patch-without-lock" for fact in site.facts):
        return None  # the stronger finding covers this site
    severity = policy.partial_body if partial else policy.severity("status-patch-without-lock")
    if severity is None:
        return None
    site, speaker, harm = _spoken_for(site, writers, partial=partial)
    return make(
        site,
        policy,
        "status-patch-without-lock",
        _known(site, speaker, writers, harm, partial=partial),
        fix_for(site),
        severity=_weakened(site, policy, severity, harm),
        confidence=Confidence.MEDIUM if partial else None,
        also=_also(site, writers),
    )


def _spoken_for(site: Site, writers: Writers, *, partial: bool) -> tuple[Site, Site, Harm | None]:
    """Return the site with the fields that its callers name, the one that loses most, and what it loses.

    A helper that runs the change of its caller names no field. Judged by itself it read as the mildest case, whoever
    else wrote what its callers change.
    """
    if partial:
        return site, site, None
    calls = writers.calls(site)
    if not calls:
        return site, site, harm_of(site, writers)
    judged = [(harm_of(call, writers), call) for call in calls]
    order = list(Harm)
    harm, speaker = min(judged, key=lambda pair: order.index(pair[0]) if pair[0] is not None else len(order))
    fields = {path for call in calls for path in call.content.fields}
    lists = {path for call in calls for path in call.content.lists}
    return (
        replace(site, content=replace(site.content, fields=tuple(sorted(fields)), lists=tuple(sorted(lists)))),
        speaker,
        harm,
    )


class Harm(Enum):
    """Evidence that an unlocked write of status loses something, the strongest first."""

    WRITERS = "another writer"
    PROGRAMS = "another program"
    LIST = "a list replaced whole"
    RECOMPUTED = "a value computed from the old one"
    DEAD_BRANCH = "a conflict that cannot happen"


def harm_of(site: Site, writers: Writers) -> Harm | None:
    """Return the evidence that a lock is missing; None for scalars that one controller alone writes.

    Of the errors that reviewers called arguable, 63 of 64 were of that last kind: the queue never reconciles an object
    twice at a time, so a stale cache or a former leader has to help before an old value replaces a newer one.
    """
    if writers.others(site):
        return Harm.WRITERS
    if writers.of_other_programs(site):
        return Harm.PROGRAMS
    if site.content.lists and site.patch_type is not PatchType.STRATEGIC:
        return Harm.LIST
    if site.content.recomputed:
        return Harm.RECOMPUTED
    if _waits_for_conflict(site):
        return Harm.DEAD_BRANCH
    return None


def _waits_for_conflict(site: Site) -> bool:
    """Decide whether the code around an unlocked patch handles a conflict, which the server never answers."""
    handled = bool(site.conflict_branch) or (site.retry is not None and site.retry.on_conflict)
    return handled and not site.base.read_apart


def _weakened(site: Site, policy: Policy, severity: Severity, harm: Harm | None) -> Severity:
    if severity is not Severity.ERROR or policy.name == "strict":
        return severity
    if site.place.comment:
        return Severity.INFO  # the authors say in a comment that they mean it
    if site.patch_type is PatchType.STRATEGIC:  # lists are merged by key, scalars are still overwritten
        merged = bool(site.content.fields) and set(site.content.fields) <= set(site.content.lists)
        return Severity.INFO if merged else Severity.WARNING
    if site.lock is Lock.MIXED and site.base.origin is BaseOrigin.HELPER:
        return Severity.WARNING  # a helper that locks on request: the request cannot be seen here
    return severity if harm is not None else Severity.WARNING


def _known(site: Site, speaker: Site, writers: Writers, harm: Harm | None, *, partial: bool) -> str:
    """State what is known of an unlocked status write: its base, its fields, its other writers."""
    lock = "unlocked on this path, though other callers lock" if site.lock is Lock.MIXED else "unlocked"
    source = "" if partial else f" from {base_text(site)}"
    fields = f"writes {field_text(site)};" if site.content.fields else "its fields are not in sight,"
    said = f"{call_text(site)}{source}: {lock}; {fields} {writers.described(speaker)}."
    if not partial:
        said = _lead(site, speaker, writers, harm) + said
    if site.content.lists and site.patch_type is not PatchType.STRATEGIC:
        said += f" {list_text(site)} replaced whole: an element that another writer added since the read is dropped."
    elif not partial:
        said += f" {_mechanism(harm)}"
    if site.base.read_apart:
        said += " A version is sent only where the object is newer than its base."
    elif site.retry is not None and site.retry.on_conflict:
        said += f" The conflict retry at :{site.retry.line} never fires, because nothing is checked."
    elif site.conflict_branch:
        said += f" The branch for a conflict at :{site.conflict_branch} never runs, because nothing is checked."
    locking = writers.locking(site)
    if locking:
        first = locking[0]
        lock = "locks" if len(locking) == 1 else "lock"
        said += f" {_count(len(locking), 'other writer')} of {site.resource.kind} {lock}, "
        said += f"for example at {first.place.path}:{first.place.line}."
    if site.place.comment and not partial:
        said += f' A comment says: "{site.place.comment}"'
    return said


def _lead(site: Site, speaker: Site, writers: Writers, harm: Harm | None) -> str:
    """Return the first words of a finding: the ones that tell an error from a choice."""
    if harm is Harm.DEAD_BRANCH:
        return "Dead conflict handling: "
    if harm is not None:
        return ""
    if writers.separated(speaker):
        return "Writers kept apart, no list: "
    known = site.resource.kind and site.content.fields and site.content.fields != ("status",)
    return "One writer, no list: " if known else "Fields or kind not in sight: "


def _mechanism(harm: Harm | None) -> str:
    """Name what lets an old value replace a newer one.

    One controller never reconciles an object twice at a time, so two reconciles of it are not the danger.
    """
    if harm in (Harm.WRITERS, Harm.PROGRAMS):
        return "The server accepts a value that was computed before the other writer's change, and that change is lost."
    if harm is Harm.RECOMPUTED:
        return (
            "The new value is computed from the one that was read, and a stale cache gives an older one to start from."
        )
    return "A stale cache or a former leader can put an older value back; the server accepts it."


def _also(site: Site, writers: Writers) -> tuple[str, ...]:
    also = ["list-merge-patch-without-lock"] if site.content.lists else []
    if site.retry is not None and site.retry.on_conflict and not site.base.read_apart:
        also.append("conflict-retry-unlocked-patch")
    if writers.locking(site):
        also.append("lock-used-by-some-writers")
    if writers.others(site):
        also.append("multi-writer-status-field")
    if any(fact.rule == "status-of-another-controller" for fact in site.facts):
        also.append("status-of-another-controller")
    return tuple(also)


def _metadata_patch(site: Site, policy: Policy, *, said: str = "") -> Finding | None:
    for target, rule, noun in (
        (Target.FINALIZERS, "finalizer-patch-without-lock", "metadata.finalizers"),
        (Target.OWNER_REFERENCES, "owner-reference-patch-without-lock", "metadata.ownerReferences"),
    ):
        if target not in site.content.targets:
            continue
        if target is Target.OWNER_REFERENCES and (site.verb is Verb.CREATE_OR_UPDATE or site.making.creates_or_patches):
            continue  # CreateOrPatch reads first, and a reference that is there already is not sent
        if (
            target is Target.OWNER_REFERENCES
            and site.place.language == "python"
            and Target.SPEC in site.content.targets
        ):
            continue  # the whole of a child that the program creates, with the reference to its owner
        message = f"{call_text(site)}: {said}" if said else f"{call_text(site)} from {base_text(site)}"
        message += f" replaces the whole list {noun}"
        if target is Target.FINALIZERS and site.content.removal and site.deleting:
            severity = policy.severity(rule)
            quiet = Severity.INFO if severity is Severity.WARNING else severity
            return make(site, policy, rule, message + "." + _REMOVED, fix_for(site), severity=quiet)
        message += ": an entry that another controller added since the read is dropped."
        return make(site, policy, rule, message, fix_for(site), also=("list-merge-patch-without-lock",))
    if any(fact.rule in ("list-merge-patch-without-lock", "list-replaced-without-lock") for fact in site.facts):
        return None
    if site.place.comment or site.lock is Lock.MERGED:
        return None
    message = f"{call_text(site)} from {base_text(site)}: unlocked; writes {field_text(site)}."
    return make(site, policy, "spec-patch-without-lock", message, fix_for(site))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
