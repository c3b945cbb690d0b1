"""The sentence of a fix, in the vocabulary of the language of its place.

Most remedies have one sentence with placeholders: the names of the fix, and words of the language such as the call
that reads from the server. Remedies with variants have a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy

_CONFLICT: Final = "the server then refuses the write with 409 Conflict, and the reconcile runs again with a fresh read"
#: Calls and idioms by language.
_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.PYTHON: {
        "live": "api.live",
        "live_get": "api.live.get",
        "live_list": "api.live.list",
        "end": "let the conflict end the reconcile (raise it, or return Result(requeue=True))",
        "again": "re-read with api.live.get before the second attempt",
        "owned": "is_controlled_by(child, owner)",
        "adopted": "is_controlled_by(obj, owner)",
        "delete_uid": 'api.delete(obj, uid=obj["metadata"]["uid"])',
        "delete_exact": "api.delete(obj, uid=..., resource_version=...)",
        "lock": "merge_from(base, lock=True)",
        "own_fields": "with force=False",
        "returned": "the object that the write{at} returned",
        "set_condition": "set_condition",
        "absent": "except NotFound",
        "read_default": "read it with .get({key})",
        "mutate_status": "mutate_status(api, obj, change)",
        "mutate_object": "mutate_object(api, obj, change)",
    },
    Language.GO: {
        "live": "mgr.GetAPIReader()",
        "live_get": "mgr.GetAPIReader().Get",
        "live_list": "mgr.GetAPIReader().List",
        "end": "return the conflict, or ctrl.Result{Requeue: true}",
        "again": "read with mgr.GetAPIReader() inside the closure of retry.RetryOnConflict",
        "owned": "metav1.IsControlledBy(child, owner)",
        "adopted": "metav1.IsControlledBy(obj, owner)",
        "delete_uid": "client.Preconditions{UID: &uid}",
        "delete_exact": "client.Preconditions{UID: &uid, ResourceVersion: &version}",
        "lock": "client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})",
        "own_fields": "without client.ForceOwnership",
        "returned": "the object that the write{at} was decoded into",
        "set_condition": "meta.SetStatusCondition",
        "absent": "client.IgnoreNotFound(err)",
        "read_default": "test whether it has {key}",
        "mutate_status": "Status().Update of the object as it was read",
        "mutate_object": "Update of the object as it was read",
    },
    Language.ANY: {},
}
#: Where only the log of a server is known, a fix names the calls of both languages.
_ANYWHERE: Final[Mapping[Remedy, str]] = {
    Remedy.LOCK_UPDATE: "send metadata.resourceVersion of what was read, so that the server answers 409",
    Remedy.LOCK_PATCH: (
        "put metadata.resourceVersion of what was read into the patch (in controller-runtime "
        "MergeFromWithOptimisticLock), so that the server answers 409"
    ),
    Remedy.READ_BEFORE_DELETE: "delete with preconditions: the uid and the resourceVersion of what was read",
    Remedy.END_ON_ERROR: "return its error, so that the object is reconciled again",
    Remedy.DELETE_WITH_UID: (
        "send a precondition: the uid of the object that was read (client-go: Preconditions{UID: &uid})"
    ),
    Remedy.RECOMPUTE_AFTER_CONFLICT: (
        "after a conflict read the object again and make the change anew, inside of the retry (client-go: within the "
        "closure of RetryOnConflict); a fresh resourceVersion on old content defeats the lock"
    ),
}
_SENTENCES: Final[Mapping[Remedy, str]] = {
    Remedy.LOCK_SCALE: (f"api.scale sends no resourceVersion: write spec.replicas with {{mutate_object}}; {_CONFLICT}"),
    Remedy.KEEP_LOCK: (
        f"leave out lock=False, so that the patch carries the resourceVersion that was read; {_CONFLICT}"
    ),
    Remedy.LOCK_JSON_PATCH: (
        'send the resourceVersion that was read in the patch, as {{"op": "replace", "path": '
        f'"/metadata/resourceVersion", "value": ...}}}}; {_CONFLICT}'
    ),
    Remedy.LOCK_UPDATE: f"keep metadata.resourceVersion in the object that is updated; {_CONFLICT}",
    Remedy.LOCK_APPLY: (
        "put metadata.resourceVersion of the object that was read into the one that is applied, because nothing else "
        f"keeps apart writes of one field manager; {_CONFLICT}"
    ),
    Remedy.APPLY_OWN_FIELDS: (
        "apply only the fields that this controller owns, {own_fields}: the server then refuses, with 409 Conflict, to "
        "change those of another field manager"
    ),
    Remedy.APPLY_WITH_UID: (
        "put metadata.uid of the object that was read into the one that is applied, because an apply creates what is "
        f"gone; {_CONFLICT}"
    ),
    Remedy.LOCK_LIST: (
        "send metadata.resourceVersion with the patch, because a merge patch replaces the whole list; or apply only "
        "the elements that this client owns"
    ),
    Remedy.SEND_VERSION: (
        "send metadata.resourceVersion with the write (client-go: Update, or a patch made by "
        "MergeFromWithOptimisticLock; kontend: merge_from(base, lock=True)); the server then refuses an outdated one "
        "with 409 Conflict, and the controller reads again"
    ),
    Remedy.READ_BEFORE_DELETE: (
        "re-read before the delete, with {live_get}, and delete only what was read: {delete_exact}"
    ),
    Remedy.COMPARE_OWNER: "compare uids before the delete: {owned} with the owner that was read",
    Remedy.LIST_AND_COMPARE_OWNER: (
        "a selector says nothing about the owner: list, and delete each child for which {owned} holds with the owner "
        "that was read"
    ),
    Remedy.READ_LIVE: (
        "read with {live} where the decision not to act must be right, or make sure that the event that was missed "
        "runs this reconcile again"
    ),
    Remedy.READ_ONCE: (
        "read {object} once in a reconcile: pass on what was read{at}, instead of reading it again, and lock the write "
        "by its resourceVersion"
    ),
    Remedy.ONE_INSTANCE: (
        "no version of {object} guards this {did}: let one instance run at a time (leader election, with the guard "
        "fencing), or claim what must be unique by creating an object that is named after it, which the server refuses "
        "to a second one"
    ),
    Remedy.END_ON_CONFLICT: "{end}, so that it runs again from a fresh read; or {again}",
    Remedy.RECOMPUTE_AFTER_CONFLICT: (
        "after a conflict compute all that is written from what is read then: {end}, so that it starts again; or write "
        "only if what the first attempt rested on is unchanged"
    ),
    Remedy.END_ON_ERROR: (
        "let the error end the reconcile, so that it runs again, and let the next run find what this one had done by "
        "then"
    ),
    Remedy.END_ON_ERROR_OR_JOIN: (
        "let the error end the reconcile, so that it runs again; or store what belongs together in one request"
    ),
    Remedy.ADOPT_IF_OURS: (
        "after AlreadyExists read the object, and go on only if it is the wanted one: {adopted}, or a comparison of "
        "its content"
    ),
    Remedy.TREAT_AS_FOUND: (
        "treat AlreadyExists as found: go on with what comes after the create of {object}, instead of ending here"
    ),
    Remedy.READ_WITH_DEFAULT: "the object may come without {key}: {read_default}, and decide what to do without it",
    Remedy.TEST_CONDITION: (
        "correct this line, or test before it for what it cannot handle: every retry has the same input and fails again"
    ),
    Remedy.CORRECT_ARGUMENT: "pass what the message asks for: nothing was sent, and every retry fails the same way",
    Remedy.HANDLE_ERROR: (
        "every retry has the same input and fails again: handle the error, for instance as a condition in the status, "
        "and return"
    ),
    Remedy.MAKE_REPEATABLE: (
        "make the reconcile repeatable: derive the name of what it creates from its owner, or record it before it is "
        "made, so that the next run finds it"
    ),
    Remedy.REPEATABLE_VALUE: (
        "make this write repeatable: a value computed from the spec of {object} and from what is there, instead of a "
        "counter, so that a second run writes the same"
    ),
    Remedy.REPEATABLE_ENTRY: (
        "make this write repeatable: an entry in {object} for each owner, or a value computed from what is there, "
        "instead of a counter; or record it in the owner before it is made"
    ),
    Remedy.COMPARE_NEWER: (
        "make sure before this write that what {object} already has is not newer than what is written"
    ),
    Remedy.ONE_WRITER_OR_NEWER: (
        "let only one of {writers} write {object}; or compare before this write which of the two is newer, and lock it "
        "by the resourceVersion of what was compared"
    ),
    Remedy.RECORD_FIRST: (
        "record what is going to be done{about} before it is done, in a request of its own, or decide by what is there "
        "({object}) instead of by the record"
    ),
    Remedy.JOIN_WRITES: (
        "store what belongs together in one request; or store last what says that the work is done, and let the next "
        "run compare with what is there instead of trusting it"
    ),
    Remedy.ADD_FINALIZER: (
        "the owner was deleted without a finalizer of this controller: add one to {owner} before this create, and "
        "remove it when {object} is gone"
    ),
    Remedy.DECIDE_BY_STATE: (
        "decide by the wanted state and by what is there, not by how the wanted state has changed: a controller may "
        "never see a state in between"
    ),
    Remedy.RUN_AGAIN: (
        "compute from what was read last, and make sure that the event of a change in the middle runs this reconcile "
        "again"
    ),
    Remedy.END_AFTER_WRITE: (
        "end the reconcile after this write: its event runs it again, and what follows rests on what is stored then"
    ),
    Remedy.DO_ALWAYS: (
        "do not leave this out because of what an earlier run left: make it repeatable, and do it in every run"
    ),
    Remedy.WATCH_KIND: "watch {kind} objects, so that a change of {object} runs this reconcile again",
    Remedy.CHECK_PREDICATE: (
        "let the event of {object} run this reconcile again: check {predicate}, or requeue until {subject} is there"
    ),
    Remedy.NOTICE_THE_REST: (
        "let the reconcile notice that something is left to do: after this line it ends without a write, an error or a "
        "requeue; and let no earlier write remove what says so"
    ),
    Remedy.CHECK_PROPERTY: (
        "make sure before this write that it does not violate {property}; it is decided by what was read at {read}"
    ),
    Remedy.COMPARE_COPY: (
        "compare resourceVersions where {memory} is set and where it is used: whichever copy is newer counts, and "
        "{memory} is dropped once the cache has a later version"
    ),
    Remedy.FORGET: (
        "decide by what the reconcile reads, not by {memory}; or drop {memory} when what it rests on changes"
    ),
    Remedy.OBSERVED_GENERATION: (
        "set observedGeneration to metadata.generation of the object that this reconcile has read"
    ),
    Remedy.COMPARE_GENERATION: (
        "compare status.observedGeneration of {object} with metadata.generation of what the last write returned: a "
        "status of an earlier generation says nothing about this spec"
    ),
    Remedy.REPORT_WHEN_DONE: (
        "write this only when the status of {object} says so, for its present metadata.generation"
    ),
    Remedy.ONE_WRITER: "let only one of {writers} write {field}, or make both write the same value",
    Remedy.ONE_OWNER: (
        "let one client own the field: take it out of what the other writes (a manifest without the field, an ignored "
        "difference, an apply of fewer fields), or write it to a field of its own"
    ),
    Remedy.COMPUTE_FROM_ALL: (
        "compute {field} from all objects that it depends on, not from {request} alone, so that the order of the "
        "reconciles does not matter"
    ),
    Remedy.IGNORE_TIME: (
        "leave {field} as it is unless something else changes: compare without the time before writing "
        "({set_condition} does, for conditions)"
    ),
    Remedy.COMPUTE_FROM_WANTED: (
        "compute {field} from the wanted state alone, so that every round has the same value (sort what has no order; "
        "leave out times and whatever the write itself changes), and write only when it differs"
    ),
    Remedy.COMPARE_BEFORE_WRITE: (
        "write {field} only when the value that is there is not the wanted one: compare before writing"
    ),
    Remedy.WRITE_LESS: (
        "do not write when nothing changes, and do not let the controller's own writes trigger it: compare before the "
        "write, leave times out of the status, filter events (GenerationChangedPredicate)"
    ),
    Remedy.BACK_OFF: "give the error back to the queue, which waits longer each time, and report it in a condition",
    Remedy.BASE_ON_RETURNED: (
        "make both changes in one request; or base this one on {returned}, which has its resourceVersion"
    ),
}


def sentence(fix: Fix) -> str:
    """Return the sentence of a fix: what to change, in the words of its language."""
    if fix.language is Language.ANY and fix.remedy in _ANYWHERE:
        return _ANYWHERE[fix.remedy]
    names = {"at": "", "about": "", **fix.names}
    words = {name: _filled(word, names) for name, word in _WORDS[fix.language].items()}
    variant = _VARIANTS.get(fix.remedy)
    if variant is not None:
        return variant(fix, words)
    return _SENTENCES[fix.remedy].format(**words, **names)


def _filled(word: str, names: Mapping[str, str]) -> str:
    """Put names into a word; the braces of Go literals stay."""
    for name, value in names.items():
        word = word.replace(f"{{{name}}}", value)
    return word


# Remedies with variants


def _lock_patch(fix: Fix, words: Mapping[str, str]) -> str:
    lock = f"lock the patch: {words['lock']}"
    if "guard" in fix.notes:
        lock += " (the guard locked_status, which is off, makes that the default)"
    elif "anywhere" in fix.notes:
        lock += ", or metadata.resourceVersion of the object that was read in a patch of your own"
    return f"{lock}, or write with {_safe(fix, words)}; {_CONFLICT}"


def _safe(fix: Fix, words: Mapping[str, str]) -> str:
    """Return the call that locks by itself."""
    if "conditions" in fix.notes and fix.language is Language.PYTHON:
        return "patch_conditions(api, obj, conditions), which merges them by type"
    return words["mutate_status" if "status" in fix.notes else "mutate_object"]


def _lock_whole_patch(fix: Fix, words: Mapping[str, str]) -> str:
    return (
        "lock the patch: put metadata.resourceVersion of the object that was read into it, or write with "
        f"{_safe(fix, words)}; {_CONFLICT}"
    )


def _delete_with_uid(fix: Fix, words: Mapping[str, str]) -> str:
    each = "a selector cannot do that: list, and " if "collection" in fix.notes else ""
    guard = " (the guard delete_preconditions, which is off, does that)" if "guard" in fix.notes else ""
    return f"{each}delete with a uid precondition: {words['delete_uid']}{guard}; {_CONFLICT}"


def _read_own_writes(fix: Fix, words: Mapping[str, str]) -> str:
    switch = (
        "switch on the guard read_your_writes (it is off in this scenario): a cached read then waits until the cache "
        "has seen this instance's own last write"
    )
    if fix.language is Language.GO:
        switch = "let the read wait until the cache has seen this controller's own last write (an expectation)"
    if "create" in fix.notes:
        return f"{switch}, or derive the name of the new object from its owner, so that a second create is refused"
    return f"{switch}; or read with {words['live']}" if "live" in fix.notes else switch


def _derive_name(fix: Fix, words: Mapping[str, str]) -> str:
    object_ = fix.names.get("object", "")
    again = f"; or re-read {object_} with {_reader(fix, words)} before the create" if "own" in fix.notes else ""
    return (
        "derive the name of the new object from its owner, without generateName or a uuid, so that a second create is "
        f"refused with 409 AlreadyExists{again}"
    )


def _read_before_write(fix: Fix, words: Mapping[str, str]) -> str:
    object_, did = fix.names["object"], fix.names["did"]
    cached = f" (it comes from the cache{fix.names.get('read', '')})" if "cached" in fix.notes else ""
    reader = _reader(fix, words)
    return f"re-read {object_} with {reader} right before this {did}{cached}, and {did} only if it still calls for it"


def _mark_first(fix: Fix, words: Mapping[str, str]) -> str:
    object_, did, target = (fix.names[name] for name in ("object", "did", "target"))
    return (
        f"no version of {object_} guards this {did}: first mark {target} in a request of its own, then re-read "
        f"{object_} with {_reader(fix, words)} and {did} only if it still calls for it; whoever uses {target} must "
        "look for the mark after its own write"
    )


def _handle_absence(fix: Fix, words: Mapping[str, str]) -> str:
    without = f"say here how the reconcile goes on without the object: {words['absent']}"
    object_ = fix.names.get("object")
    if object_ is None:
        return f"every retry finds nothing and fails again: {without}"
    return (
        f"where {object_} is always there, the scenario has to start with it: objects=[...], or --objects FILE; "
        f"otherwise {without}"
    )


def _reader(fix: Fix, words: Mapping[str, str]) -> str:
    return words["live_list" if "list" in fix.notes else "live_get"]


def _look_at_result(fix: Fix, _words: Mapping[str, str]) -> str:
    """A sign that was taken for the whole: it is written last, or together with the rest."""
    names = fix.names
    join = f"store {names['join']} in one request; or " if "join" in names else ""
    last = f", or {names['last']} last" if "last" in names else ""
    return (
        f"{join}do not take {names['sign']} for a sign that the rest is done: look at {names['subject']} itself{last}"
    )


_VARIANTS: Final[Mapping[Remedy, Callable[[Fix, Mapping[str, str]], str]]] = {
    Remedy.HANDLE_ABSENCE: _handle_absence,
    Remedy.LOCK_PATCH: _lock_patch,
    Remedy.LOCK_WHOLE_PATCH: _lock_whole_patch,
    Remedy.DELETE_WITH_UID: _delete_with_uid,
    Remedy.READ_OWN_WRITES: _read_own_writes,
    Remedy.DERIVE_NAME: _derive_name,
    Remedy.READ_BEFORE_WRITE: _read_before_write,
    Remedy.MARK_FIRST: _mark_first,
    Remedy.LOOK_AT_RESULT: _look_at_result,
}
