"""The rules: names, codes, default severities, and the page that explains each.

A rule's page is a Markdown file beside this module, with the same name; `kontend rule NAME` prints it and the
documentation links to it, so there is one text. Names are what people write in suppressions and settings; codes are
for tools that want something short.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from kontend.audit.finding import Confidence, Severity

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_HIGH, _MEDIUM, _LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `severity` None means that only a policy switches the rule on."""

    code: str
    name: str
    severity: Severity | None
    confidence: Confidence
    summary: str


# fmt: off
_TABLE = (
    Rule("KA001", "status-patch-without-lock", _E, _HIGH,
         "A status merge patch carries no resourceVersion, so a write that landed since the read is lost."),
    Rule("KA002", "list-merge-patch-without-lock", _E, _HIGH,
         "A merge patch replaces a list that was built from a read, without a lock."),
    Rule("KA003", "status-read-modify-write-unguarded", _E, _HIGH,
         "A status that was read is sent back whole with no version checked."),
    Rule("KA004", "conflict-retry-blind-overwrite", _W, _MEDIUM,
         "A conflict retry reads again, then lays a status computed before the loop over it."),
    Rule("KA005", "conflict-retry-cached-read", _I, _LOW,
         "A conflict retry reads again through a cache that may not have caught up."),
    Rule("KA006", "conflict-retry-stale-object", _E, _HIGH,
         "A conflict retry sends the same object again without reading it again."),
    Rule("KA007", "multi-writer-status-field", _W, _MEDIUM,
         "Two places write the same status field with nothing that orders them."),
    Rule("KA008", "status-write-error-ignored", _W, _HIGH,
         "The error of a status write is dropped."),
    Rule("KA009", "status-write-error-logged-only", _I, _MEDIUM,
         "The error of a status write is logged and nothing retries it."),
    Rule("KA010", "json-patch-index-without-test", _E, _HIGH,
         "A JSON patch addresses a list element by index with no test operation."),
    Rule("KA011", "status-on-main-resource", _W, _MEDIUM,
         "Status is written through the main resource, which drops it where the subresource exists."),
    Rule("KA012", "kopf-return-writes-status", _I, _HIGH,
         "A kopf handler's return value is written to status, unlocked."),
    Rule("KA013", "kopf-patch-and-client-patch-mixed", _W, _MEDIUM,
         "One kopf handler patches its object both through `patch` and through a client."),
    Rule("KA014", "multiple-status-writes-per-reconcile", _I, _LOW,
         "One pass writes the same status several times."),
    Rule("KA015", "status-update-then-read-cache", _I, _LOW,
         "An object is read from the cache right after its status was written."),
    Rule("KA016", "locked-base-reused", _W, _MEDIUM,
         "A locked base is used after another write of the object: the controller conflicts with itself."),
    Rule("KA017", "base-after-mutation", _E, _HIGH,
         "The base of a patch is taken after the change, so the change is never sent."),
    Rule("KA018", "status-write-in-task", _W, _MEDIUM,
         "A task writes the status of the object that its reconciler will flush."),
    Rule("KA019", "status-of-another-controller", _W, _LOW,
         "A controller writes the status of a kind that another controller reconciles."),
    Rule("KA020", "delete-without-preconditions", _I, _MEDIUM,
         "A delete carries no uid, so it can hit an object that was recreated under the name."),
    Rule("KA021", "side-effect-before-plan-persisted", _W, _LOW,
         "An effect is made before the plan that explains it is stored."),
    Rule("KA022", "finalizer-patch-without-lock", _W, _HIGH,
         "An unlocked merge patch replaces the whole list of finalizers."),
    Rule("KA023", "owner-reference-patch-without-lock", _W, _HIGH,
         "An unlocked merge patch replaces the whole list of owner references."),
    Rule("KA024", "status-full-update", None, _HIGH,
         "A full status update writes fields that the writer does not own."),
    Rule("KA025", "metadata-full-update", None, _HIGH,
         "Finalizers or other metadata are written by a full update instead of a locked patch."),
    Rule("KA026", "spec-patch-without-lock", None, _HIGH,
         "Spec or labels are patched without a lock."),
    Rule("KA027", "status-write-of-list-item", _I, _MEDIUM,
         "The status of an element of a list is written: the whole list may be stale."),
    Rule("KA028", "update-without-version", _W, _MEDIUM,
         "An update carries no resourceVersion, so the server checks nothing."),
    Rule("KA029", "status-apply-forced", None, _MEDIUM,
         "A forced apply of status takes fields away from their owners."),
    Rule("KA030", "unused-suppression", _W, _HIGH,
         "A suppression comment suppresses nothing."),
    Rule("KA031", "suppression-without-reason", _W, _HIGH,
         "A suppression comment gives no reason."),
    Rule("KA032", "cached-object-changed", _W, _HIGH,
         "An object of a lister is changed in place, so every reader of the cache sees the change."),
    Rule("KA033", "conflict-retry-unlocked-patch", _W, _HIGH,
         "A conflict retry repeats a patch that checks no version, so it never fires."),
    Rule("KA034", "lock-used-by-some-writers", _W, _MEDIUM,
         "Some writers of a kind's status lock and this one does not."),
    Rule("KA035", "wrong-error-returned", _W, _HIGH,
         "The error of a write is checked, and another variable is returned."),
    Rule("KA036", "retry-predicate-always-true", _W, _HIGH,
         "A retry repeats a write after every error, permanent ones included."),
    Rule("KA037", "status-lost-in-update", _W, _MEDIUM,
         "Status is set before an Update that brings the old one back, and written after it."),
    Rule("KA038", "create-without-owner-reference", _I, _LOW,
         "An object is created without the owner reference that its siblings get."),
    Rule("KA039", "requeue-lost-after-conflict", _W, _MEDIUM,
         "A conflict is answered with success, and filtered events do not run the reconcile again."),
    Rule("KA040", "list-replaced-without-lock", _W, _MEDIUM,
         "An unlocked merge patch replaces a list of the spec that other writers may extend."),
    Rule("KA041", "counter-without-lock", _W, _MEDIUM,
         "A counter is computed from a read and sent with no version checked."),
    Rule("KA042", "read-modify-write-unguarded", _W, _MEDIUM,
         "Data that was read is changed and sent back whole with no version checked."),
)
# fmt: on

RULES: dict[str, Rule] = {rule.name: rule for rule in _TABLE}


class UnknownRule(Exception):
    """A name or code that is no rule's."""


def find_rule(name: str) -> Rule:
    """Return a rule by its name or code.

    >>> find_rule("ka001").name
    'status-patch-without-lock'
    """
    wanted = name.strip()
    for rule in RULES.values():
        if wanted.lower() in (rule.name, rule.code.lower()):
            return rule
    close = [
        rule.name
        for rule in RULES.values()
        if any(part in rule.name for part in wanted.lower().split("-") if len(part) > 3)
    ]
    hint = f" Did you mean {', '.join(close[:4])}?" if close else ""
    raise UnknownRule(f"there is no rule {name!r}.{hint} `kontend rule --all` lists them.")


def page(rule: Rule) -> str:
    """Return the Markdown page of a rule."""
    return resources.files(__name__).joinpath(f"{rule.name}.md").read_text("utf-8")
