"""A sentence and a way out for each rule that reports a fact.

`{call}` is the write in short, `{text}` the fact.
"""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "base-after-mutation": (
        "{call}: {text}, so the diff does not contain the change and it is never sent.",
        "Take the base before the first change.",
    ),
    "locked-base-reused": (
        "{call}: {text}; the base still names the older resourceVersion, so the server answers "
        "409 to the controller's own write.",
        "Take a new base after the write, or make one write of the two.",
    ),
    "status-write-in-task": (
        "{call}: {text}.",
        "Set the field in memory and let the reconciler's single flush persist it.",
    ),
    "status-write-of-list-item": (
        "{call}: {text}, read together with all the others and as old as the list.",
        "Get the object again before writing it.",
    ),
    "status-of-another-controller": (
        "{call}: {text}. Two controllers that write one status need one owner for each field.",
        "Report through the object's owner, or patch a field of your own with a lock.",
    ),
    "delete-without-preconditions": (
        "{call} deletes by name, with {text}: an object recreated under that name since the read is deleted instead.",
        "Pass client.Preconditions{UID: &uid}.",
    ),
    "json-patch-index-without-test": (
        "{call}: {text} and no test operation comes first: after another writer's insert or "
        "delete it hits a different element.",
        'Put {"op": "test"} on the element or on /metadata/resourceVersion before it.',
    ),
    "status-update-then-read-cache": (
        "{call}: {text}; the cache may still hold the version before it.",
        "Use the object that the write returned.",
    ),
    "side-effect-before-plan-persisted": (
        "{text}: a crash in between leaves the effect without the plan that explains it.",
        "Persist the plan first, act on the next reconcile.",
    ),
    "status-read-modify-write-unguarded": (
        "{call}: {text}, so every field that another writer changed since the read is put back.",
        "Send only the fields that change, or send the resourceVersion that was read.",
    ),
    "list-merge-patch-without-lock": (
        "{call}: {text}; a merge patch replaces the list whole, so an element added since the read is dropped.",
        "Send the resourceVersion that was read, or use server-side apply.",
    ),
    "kopf-return-writes-status": ("{text}.", "Return nothing, and write status where the reader expects it."),
    "kopf-patch-and-client-patch-mixed": (
        "{call}: {text}.",
        "Use one of the two; kopf sends `patch` only after the handler has returned.",
    ),
    "status-on-main-resource": ("{call}: {text}.", "Write to the status subresource."),
    "multiple-status-writes-per-reconcile": (
        "{call}: {text} in the same pass; a crash between two leaves half of it.",
        "Change the status in memory and flush it once.",
    ),
    "cached-object-changed": (
        "{text}. The object is the cache's own: every other reader sees the change, even where the server refuses it.",
        "Change a DeepCopy.",
    ),
    "wrong-error-returned": (
        "{call}: {text}, so the reconcile ends as if the write had succeeded.",
        "Return the error that was checked.",
    ),
    "status-lost-in-update": (
        "{call}: {text}.",
        "Set the status after the Update, on the object that it returned.",
    ),
    "requeue-lost-after-conflict": (
        "{call}: {text}, and the controller filters events that change no generation: nothing runs it again.",
        "Return the conflict, or requeue.",
    ),
    "list-replaced-without-lock": (
        "{call}: {text}; an element that another writer added since the read is dropped.",
        "Lock the patch, or own the elements with server-side apply.",
    ),
    "counter-without-lock": (
        "{call}: {text}; two writers that read the same value count once.",
        "Send the resourceVersion that was read, and count again on 409.",
    ),
    "read-modify-write-unguarded": (
        "{call}: {text}, so what another writer changed since the read is put back.",
        "Send only the keys that change, or the resourceVersion that was read.",
    ),
}
