"""Changes of user code that prevent a violation, by the pattern of its cause."""

from __future__ import annotations

import linecache
import re
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.explain.causes.given_patches import is_given
from kontend.explore.explain.causes.guarding import locks
from kontend.explore.explain.fields import content_of, object_name, short_name
from kontend.explore.explain.trail import Part, Seen, Taken, Trail
from kontend.explore.program.progress import Failure
from kontend.explore.properties.authors import author_of
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Path
from kontend.explore.properties.writes import Fault
from kontend.runtime.client.call import Call
from kontend.runtime.guards import Guards

_CONFLICT: Final = "the server then refuses the write with 409 Conflict, and the reconcile runs again with a fresh read"
#: For a conflict that user code swallows.
FIX_OF_REFUSAL: Final = (
    "let the conflict end the reconcile (raise it, or return Result(requeue=True)), so that it runs again from a fresh "
    "read; or re-read with api.live.get before the second attempt"
)
#: For a conflict after which user code writes the same again.
FIX_OF_SECOND_ATTEMPT: Final = (
    "after a conflict compute all that is written from what is read then: let the conflict end the reconcile (raise "
    "it, or return Result(requeue=True)), so that it starts again; or write only if what the first attempt rested on "
    "is unchanged"
)
_DELETES: Final = ("delete", "deletecollection")
#: A patch whose content the code gives whole.
_GIVEN: Final = re.compile(r"\b(merge_patch|strategic_merge_patch|raw)\(")
_UNLOCKED: Final = re.compile(r"\bmutate_status\(.*\block=False\b")


def fix_of_fault(trail: Trail, taken: Taken, part: Part, fault: Fault) -> str:
    """The change that prevents a write from clashing with another."""
    call = part.call
    assert call is not None
    if fault.property == BuiltIn.OBSERVED_GENERATION:
        return "set observedGeneration to metadata.generation of the object that this reconcile has read"
    if fault.property == BuiltIn.WRONG_OWNER and call.verb == "deletecollection":
        return (
            "a selector says nothing about the owner: list, and delete each child for which "
            "is_controlled_by(child, owner) holds with the owner that was read"
        )
    if fault.property == BuiltIn.WRONG_OWNER:
        return "compare uids before the delete: is_controlled_by(child, owner) with the owner that was read"
    old = fault.change.old
    author = author_of(old, fault.path) if old is not None else ""
    return fix_of_blind_write(trail, taken, part, fault.path, author=author)


def fix_of_blind_write(trail: Trail, taken: Taken, part: Part, path: Path = (), *, author: str = "") -> str:
    """The change that makes the server refuse a write that was made from an old version.

    ``path`` is the field, and ``author`` the field manager that had written it.
    """
    call = part.call
    assert call is not None
    if call.verb in _DELETES:
        return _locked_delete(call, guarded=bool(locks(trail, taken, part, "delete_preconditions")))
    if call.content_type.startswith("application/apply-patch"):
        return _locked_apply(call, author)
    if call.content_type.startswith("application/json-patch"):
        operation = '{"op": "replace", "path": "/metadata/resourceVersion", "value": ...}'
        return f"send the resourceVersion that was read in the patch, as {operation}; {_CONFLICT}"
    if call.verb == "update":
        return f"keep metadata.resourceVersion in the object that is updated; {_CONFLICT}"
    guarded = locks(trail, taken, part, "locked_status")
    given = not guarded and is_given(trail, taken, part, locked=guarded)
    return _locked_patch(part, call, path, guarded=bool(guarded), given=given)


def _locked_delete(call: Call, *, guarded: bool) -> str:
    guard = " (the guard delete_preconditions, which is off, does that)" if guarded else ""
    each = "a selector cannot do that: list, and " if call.verb == "deletecollection" else ""
    return f'{each}delete with a uid precondition: api.delete(obj, uid=obj["metadata"]["uid"]){guard}; {_CONFLICT}'


def _locked_apply(call: Call, author: str) -> str:
    """Field managers keep different writers apart; those that share one need the version."""
    query = dict(call.query)
    if query.get("force") == "true" and author != query.get("fieldManager"):
        return (
            "apply only the fields that this controller owns, with force=False: the server then refuses, with 409 "
            "Conflict, to change those of another field manager"
        )
    return (
        "put metadata.resourceVersion of the object that was read into the one that is applied, because nothing else "
        f"keeps apart writes of one field manager; {_CONFLICT}"
    )


def _locked_patch(part: Part, call: Call, path: Path, *, guarded: bool, given: bool) -> str:
    status = call.subresource == "status"
    safe = "mutate_status(api, obj, change)" if status else "mutate_spec(api, obj, change)"
    if call.subresource == "scale":
        return f"api.scale sends no resourceVersion: write spec.replicas with {safe}; {_CONFLICT}"
    if status and "conditions" in path:
        safe = "patch_conditions(api, obj, conditions), which merges them by type"
    line = linecache.getline(part.line.file, part.line.line) if part.line is not None else ""
    if _UNLOCKED.search(line):
        return f"leave out lock=False, so that the patch carries the resourceVersion that was read; {_CONFLICT}"
    lock = "lock the patch: merge_from(base, lock=True)"
    if guarded:
        lock += " (the guard locked_status, which is off, makes that the default)"
    elif _GIVEN.search(line) or (given and "merge_from(" not in line):
        lock = "lock the patch: put metadata.resourceVersion of the object that was read into it"
    elif "merge_from(" not in line:
        lock += ", or metadata.resourceVersion of the object that was read in a patch of your own"
    return f"{lock}, or write with {safe}; {_CONFLICT}"


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
) -> str:
    """The change that prevents a write from resting on an outdated read.

    ``own``: the writer did not see its own earlier write; ``restarted``: it was restarted in between, and knows nothing
    of that write. ``read``: the line of the read. ``sibling``: another instance of the same controller made the change.
    """
    call, version = part.call, change.new or change.old
    assert call is not None
    assert version is not None
    name = short_name(object_name(content_of(version)))
    if own and not restarted and seen.call.cached and not guards.read_your_writes:
        named = ", or derive the name of the new object from its owner, so that a second create is refused"
        return (
            "switch on the guard read_your_writes (it is off in this scenario): a cached read then waits until the "
            f"cache has seen this instance's own last write{named if call.verb == 'create' else ''}"
        )
    where = "api.live.get" if seen.call.verb == "get" else "api.live.list"
    if call.verb == "create":
        # Between a second read and the create others may do the same; this instance does one thing at a time.
        reads = f"; or re-read {name} with {where} before the create" if own else ""
        return (
            "derive the name of the new object from its owner, without generateName or a uuid, so that a second create "
            f"is refused with 409 AlreadyExists{reads}"
        )
    same = change.key == call.key and seen.call.kind == call.kind
    if call.verb in _DELETES and same:
        return (
            "re-read before the delete, with api.live.get, and delete only what was read: "
            "api.delete(obj, uid=..., resource_version=...)"
        )
    did = "delete" if call.verb in _DELETES else "write"
    if not seen.call.cached and not same:
        return _check_then_act(name, call, did, where, sibling=sibling)
    cached = f" (it comes from the cache{read})" if seen.call.cached else ""
    return f"re-read {name} with {where} right before this {did}{cached}, and {did} only if it still calls for it"


def _check_then_act(name: str, call: Call, did: str, where: str, *, sibling: bool) -> str:
    """The read was fresh, and another object changed between it and the write: a second read only makes that rarer."""
    if sibling:
        return (
            f"no version of {name} guards this {did}: let one instance run at a time (leader election, with the guard "
            "fencing), or claim what must be unique by creating an object that is named after it, which the server "
            "refuses to a second one"
        )
    target = f"{call.kind.partition('/')[0].partition('.')[0]} {call.key}"
    return (
        f"no version of {name} guards this {did}: first mark {target} in a request of its own, then re-read {name} "
        f"with {where} and {did} only if it still calls for it; whoever uses {target} must look for the mark after its "
        "own write"
    )


def fix_of_failure(failure: Failure) -> str:
    """The change that prevents an exception from coming back with every retry."""
    if failure.type == "KeyError":
        detail = failure.message
        return f"the object may come without {detail}: read it with .get({detail}), and decide what to do without it"
    if failure.is_bug:
        return "test for the condition before this line: every retry has the same input and fails again"
    return (
        "every retry has the same input and fails again: handle the error, for instance as a condition in the status, "
        "and return"
    )
