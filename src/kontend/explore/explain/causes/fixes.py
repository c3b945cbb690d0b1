"""Changes of user code that prevent a violation, by the pattern of its cause."""

from __future__ import annotations

from typing import Final

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix, Language, language_of
from kontend.explanation.python.statements import calls_at, is_given
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.given_patches import is_given_whole
from kontend.explore.explain.causes.guarding import locks
from kontend.explore.explain.fields import content_of, object_name, short_name
from kontend.explore.explain.trail import Part, Seen, Taken, Trail
from kontend.explore.program.progress import Failure
from kontend.explore.properties.authors import author_of
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Path
from kontend.explore.properties.writes import Fault
from kontend.kube.encoding.json_text import InvalidObject
from kontend.kube.errors import NotFound, WrongObject
from kontend.runtime.client.call import Call
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import SourceLocation

_DELETES: Final = ("delete", "deletecollection")
#: Exceptions of calls that were not sent, because of what the code passed.
_REFUSED_HERE: Final = frozenset({WrongObject.__name__, InvalidObject.__name__})
#: Functions that make a patch whose content the code gives whole.
_WHOLE: Final = frozenset({"merge_patch", "strategic_merge_patch", "raw"})


def fix_of_fault(trail: Trail, taken: Taken, part: Part, fault: Fault) -> Fix:
    """The change that prevents a write from clashing with another."""
    call = part.call
    assert call is not None
    if fault.property == BuiltIn.OBSERVED_GENERATION:
        return Fix(Remedy.OBSERVED_GENERATION, part.line)
    if fault.property == BuiltIn.WRONG_OWNER:
        each = call.verb == "deletecollection"
        return Fix(Remedy.LIST_AND_COMPARE_OWNER if each else Remedy.COMPARE_OWNER, part.line)
    old = fault.change.old
    author = author_of(old, fault.path) if old is not None else ""
    return fix_of_blind_write(trail, taken, part, fault.path, author=author)


def fix_of_blind_write(trail: Trail, taken: Taken, part: Part, path: Path = (), *, author: str = "") -> Fix:
    """The change that makes the server refuse a write that was made from an old version.

    ``path`` is the field, and ``author`` the field manager that had written it.
    """
    call = part.call
    assert call is not None
    if call.verb in _DELETES:
        notes = {"collection"} if call.verb == "deletecollection" else set()
        guarded = locks(trail, taken, part, "delete_preconditions")
        return Fix(Remedy.DELETE_WITH_UID, part.line, notes=frozenset(notes | ({"guard"} if guarded else set())))
    if call.content_type.startswith("application/apply-patch"):
        # Neither force nor a field manager matters to an apply that creates what somebody has deleted.
        created = any(change.key == call.key and change.old is None for change in part.transition.changes)
        return Fix(Remedy.APPLY_WITH_UID if created else _remedy_of_apply(call, author), part.line)
    if call.content_type.startswith("application/json-patch"):
        return Fix(Remedy.LOCK_JSON_PATCH, part.line)
    if call.verb == "update":
        return Fix(Remedy.LOCK_UPDATE, part.line)
    guarded = locks(trail, taken, part, "locked_status")
    whole = not guarded and is_given_whole(trail, taken, part, locked=guarded)
    return _locked_patch(part, call, path, guarded=bool(guarded), whole=whole)


def _remedy_of_apply(call: Call, author: str) -> Remedy:
    """Field managers keep different writers apart; those that share one need the version."""
    query = dict(call.query)
    is_forced = query.get("force") == "true" and author != query.get("fieldManager")
    return Remedy.APPLY_OWN_FIELDS if is_forced else Remedy.LOCK_APPLY


def _locked_patch(part: Part, call: Call, path: Path, *, guarded: bool, whole: bool) -> Fix:
    if call.subresource == "scale":
        return Fix(Remedy.LOCK_SCALE, part.line)
    notes = {"status"} if call.subresource == "status" else set()
    if notes and "conditions" in path:
        notes.add("conditions")
    calls = calls_at(part.line)
    if "mutate_status" in calls and is_given(calls["mutate_status"], "lock", False):
        return Fix(Remedy.KEEP_LOCK, part.line)
    if guarded:
        return Fix(Remedy.LOCK_PATCH, part.line, notes=frozenset(notes | {"guard"}))
    if calls.keys() & _WHOLE or (whole and "merge_from" not in calls):
        return Fix(Remedy.LOCK_WHOLE_PATCH, part.line, notes=frozenset(notes))
    if "merge_from" not in calls and language_of(part.line) is Language.PYTHON:
        notes.add("anywhere")
    return Fix(Remedy.LOCK_PATCH, part.line, notes=frozenset(notes))


def fix_of_stale_read(
    guards: Guards,
    part: Part,
    seen: Seen,
    change: Change,
    *,
    own: bool,
    restarted: bool = False,
    read: str = "",
    sibling: bool = False,
) -> Fix:
    """The change that prevents a write from resting on an outdated read.

    ``own``: the writer did not see its own earlier write; ``restarted``: it was restarted in between, and knows nothing
    of that write. ``read``: the line of the read. ``sibling``: another instance of the same controller made the change.
    """
    call, version = part.call, change.new or change.old
    assert call is not None
    assert version is not None
    name = short_name(object_name(content_of(version)))
    if own and not restarted and seen.call.cached and not guards.read_your_writes:
        return Fix(Remedy.READ_OWN_WRITES, part.line, notes=frozenset({"create"} & {call.verb}))
    listed = {"list"} if seen.call.verb != "get" else set()
    if call.verb == "create":
        # Between a second read and the create others may do the same; this instance does one thing at a time.
        notes = listed | ({"own"} if own else set())
        return Fix(Remedy.DERIVE_NAME, part.line, {"object": name}, frozenset(notes))
    same = change.key == call.key and seen.call.kind == call.kind
    if call.verb in _DELETES and same:
        return Fix(Remedy.READ_BEFORE_DELETE, part.line)
    did = "delete" if call.verb in _DELETES else "write"
    names = {"object": name, "did": did}
    if not seen.call.cached and not same:
        # The read was fresh, and another object changed since: a second read only makes that rarer.
        target = f"{call.kind.partition('/')[0].partition('.')[0]} {call.key}"
        remedy = Remedy.ONE_INSTANCE if sibling else Remedy.MARK_FIRST
        return Fix(remedy, part.line, {**names, "target": target}, frozenset(listed))
    notes = listed | ({"cached"} if seen.call.cached else set())
    return Fix(Remedy.READ_BEFORE_WRITE, part.line, {**names, "read": read}, frozenset(notes))


def fix_of_failure(failure: Failure, line: SourceLocation | None, *, missing: str = "") -> Fix:
    """The change that prevents an exception from coming back with every retry.

    ``missing`` is the object that was not found, where it was never there.
    """
    if failure.type == "KeyError":
        return Fix(Remedy.READ_WITH_DEFAULT, line, {"key": failure.message})
    if failure.type == NotFound.__name__:
        return Fix(Remedy.HANDLE_ABSENCE, line, {"object": missing} if missing else {})
    if failure.type in _REFUSED_HERE:
        return Fix(Remedy.CORRECT_ARGUMENT, line)
    return Fix(Remedy.TEST_CONDITION if failure.is_bug else Remedy.HANDLE_ERROR, line)
