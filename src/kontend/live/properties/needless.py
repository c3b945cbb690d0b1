"""Needless deletions: a process deletes what it needs, because its cache shows an older state, and it is made again.

The end of the run looks right then, but what was in the object is gone: the data of a claim, the pods of a StatefulSet.
A deletion counts if unperturbed runs delete the object less often, it names no version and no uid, the owner of the
object is there and not being deleted, and at the end an object of the same name has the same owner. Only runs in which
something was stale are judged: a process that has met an error may well begin anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kontend.cluster.state import State, Version
from kontend.kube.meta.names import Key
from kontend.live.gate.perturbation import Act, Hold, Rewind, Skip
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Request
from kontend.live.runs.outcome import Run

NEEDLESS_DELETION: Final = "needless deletion"

#: The resource and the key of a deleted object.
Deleted = tuple[str, Key]


class Needless(NamedTuple):
    """A deletion, and the owner that wants the object."""

    request: Request
    owner: str


def deletions_of(runs: Sequence[Run]) -> Mapping[Deleted, int]:
    """Return how often unperturbed runs delete each object, at most."""
    most: Counter[Deleted] = Counter()
    for run in runs:
        most |= Counter((request.call.resource, request.key) for request, _ in _deletions(run))
    return most


def needless_deletions(run: Run, expected: Mapping[Deleted, int]) -> Iterator[Needless]:
    """Yield the deletions of a run without which it would have been better off."""
    if not _is_stale(run.plan):
        return
    count: Counter[Deleted] = Counter()
    for request, deleted in _deletions(run):
        of = request.call.resource, request.key
        count[of] += 1
        if count[of] <= expected.get(of, 0) or request.locked or request.before is None:
            continue
        owner = _controller(deleted)
        after = run.final.find(*of)
        if not owner or after is None or _uid(after) == _uid(deleted) or _controller(after) != owner:
            continue
        title = _living(request.before, owner)
        if title:
            yield Needless(request, title)


def _is_stale(plan: Plan) -> bool:
    return any(
        isinstance(each, Hold | Rewind | Skip) or (isinstance(each, Act) and each.unseen) for each in plan.perturbations
    )


def _deletions(run: Run) -> Iterator[tuple[Request, Version]]:
    """Yield the requests that delete an object, or begin to, and the object."""
    for request in run.log.writes():
        for change in request.changes if request.call.verb == "delete" else ():
            if (change.resource, change.key) == (request.call.resource, request.key) and change.old is not None:
                yield request, change.old
                break


def _uid(version: Version) -> str:
    return str(version.content()["metadata"].get("uid", ""))


def _controller(version: Version) -> str:
    """Return the uid of the object that controls another one; empty if there is none."""
    references = version.content()["metadata"].get("ownerReferences") or ()
    return next((str(each.get("uid", "")) for each in references if each.get("controller")), "")


def _living(state: State, uid: str) -> str:
    """Return the title of an object that is there and not being deleted; empty otherwise."""
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            if _uid(version) == uid:
                deleting = "deletionTimestamp" in version.content()["metadata"]
                return "" if deleting else f"{resource} {key}"
    return ""
