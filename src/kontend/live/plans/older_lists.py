"""Restarts onto older lists: an API server that lags behind answers the first list of a process.

There are as many older lists as events. Those come first that show other objects than there are now, other generations
of them, or objects that were being deleted; of the kinds that the user acts on; and after the last action, where lists
before all earlier ones can be shown. The others differ in a status or in a label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from kontend.cluster.state import State
from kontend.live.gate.perturbation import Rewind
from kontend.live.gate.plan import Plan
from kontend.live.runs.older_states import older_versions
from kontend.live.runs.outcome import Run

#: The oldest list that is tried, in events.
_MOST: Final = 8
_RECENT: Final = "an API server that lags behind answers the first list"
_EARLIER: Final = "the first list is older than the last action: it may show what has been deleted since"

#: The likeness of a list that differs in nothing that matters.
_SAME: Final = 3

#: The objects in a list, as far as they make a controller do something else.
_View = frozenset[tuple[str, str, str, int, bool]]


class _Older(NamedTuple):
    """A plan, and the list that it shows."""

    plan: Plan
    number: int
    resource: str
    view: _View
    #: The list that is there when the process restarts.
    current: _View


def rewinds(run: Run, acted_on: Sequence[str], watches: Collection[str]) -> list[Plan]:
    """Return the plans for resources whose first list may be old; ``acted_on`` are those of the user's actions."""
    resources = {request.call.resource for request in run.log.requests() if request.may_be_old} & set(watches)
    last = len(acted_on)
    found = sorted(
        _older(run, resources, last),
        key=lambda each: (_likeness(each), each.resource not in acted_on, each.number != last),
    )
    shown: set[tuple[str, _View, _View]] = set()
    first: list[Plan] = []
    rest: list[Plan] = []
    for each in found:
        lists = each.resource, each.view, each.current
        (rest if lists in shown or _likeness(each) == _SAME else first).append(each.plan)
        shown.add(lists)
    return [*first, *rest]


def _likeness(older: _Older) -> int:
    """Return how little a list differs: an object that was being deleted matters most, then one that is another."""
    if any(deleting for *_, deleting in older.view - older.current):
        return 0
    if {each[:3] for each in older.view} != {each[:3] for each in older.current}:
        return 1
    return _SAME if older.view == older.current else 2


def _older(run: Run, resources: Collection[str], last: int) -> Iterator[_Older]:
    states = [run.initial, *run.phases]
    for number in range(1, min(last + 1, len(states) - 1)):
        start, end = states[number], states[number + 1]
        oldest = states[1 if number == last else number].resource_version
        for resource in sorted(resources):
            current = _view(end, resource, end.resource_version)
            changes = older_versions(end, resource, changes=True)
            events = older_versions(end, resource, changes=False)
            for versions, counted in ((changes, True), (events, False)):
                for back, version in enumerate(reversed(versions), start=1):
                    if version < oldest or back > _MOST:
                        break
                    if counted or version not in changes:
                        why = _EARLIER if version < start.resource_version else _RECENT
                        plan = Plan((Rewind(resource, number, back, changes=counted),), why)
                        yield _Older(plan, number, resource, _view(end, resource, version), current)


def _view(state: State, resource: str, resource_version: int) -> _View:
    view = set()
    for key, version in state.objects_at(resource, resource_version).items():
        metadata = version.content()["metadata"]
        identity = key.namespace, key.name, str(metadata.get("uid", ""))
        view.add((*identity, int(metadata.get("generation") or 0), "deletionTimestamp" in metadata))
    return frozenset(view)
