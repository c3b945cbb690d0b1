"""Plans, derived from what the baseline has shown: each place where a perturbation could make a difference, once.

Mildest first: restarts and crashes, which every process must survive, before lost responses, failures, stale caches,
concurrent users, older lists and hand-overs. Places that cannot make a difference are left out: a crash between two
reads leaves nothing behind, and a resource that the process does not watch cannot be stale in its cache. Pairs of plans
come last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from kontend.live.baseline import Baseline
from kontend.live.gate.call import UNJUDGED, Call, Point
from kontend.live.gate.perturbation import (
    Act,
    AtPoint,
    Crash,
    Delay,
    Down,
    Fail,
    HandOver,
    Hold,
    LoseResponse,
    Perturbation,
    Rewind,
    Skip,
)
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening, Request
from kontend.live.plans.older_lists import rewinds
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY

_DIGITS: Final = re.compile(r"\d+")
#: The failures of a kind of call, by verb.
_FAILURES: Final = {
    "get": ("500",),
    "list": (),
    "create": ("500", "429", "504", "timeout"),
    "update": ("409", "500", "429", "504", "timeout"),
    "patch": ("409", "500", "429", "504", "timeout"),
    "delete": ("409", "500", "429", "504", "timeout"),
    "deletecollection": ("500", "timeout"),
}
#: Failures that are repeated, and how often: the process's own events bring it back to a call whose error it ignores.
_LASTING: Final = {
    "409": "a conflict that lasts, as with a stale cache: the process must try again until it is over",
    "500": "the server fails for a moment: the process must try again until it is over",
}
_TIMES: Final = 3


class _Observed:
    """The first unperturbed run, as far as plans need it."""

    def __init__(self, baseline: Baseline) -> None:
        self.run: Run = baseline.runs[0]
        self.actions = baseline.setting.workload.actions
        self.watches = self.run.caches
        self.resources = [action.resource(*self.run.phases, self.run.final) for action in self.actions]
        points = [_points(run) for run in baseline.runs]
        #: The writes that every unperturbed run makes, in order, each with the user's actions before it.
        common = [(point, action) for point, action in points[0] if all(point in dict(other) for other in points)]
        self.writes = list(_without_look_alikes(common))
        acted = [record for record in self.run.log.records if isinstance(record, Happening) and record.action == "act"]
        self.acted = {request.number: request for request in acted}

    def changed_in(self, action: int) -> set[str]:
        """Return the resources that the process has changed after an action."""
        return {point.call.resource for point, after in self.writes if after == action}


def _points_of(requests: Iterable[Request]) -> dict[Point, bool]:
    """Return the points of some writes, each with a note if the write names a version."""
    count: Counter[Call] = Counter()
    points = {}
    for request in requests:
        count[request.call] += 1
        points[Point(request.call, count[request.call])] = request.locked
    return points


def _points(run: Run) -> list[tuple[Point, int]]:
    count: Counter[Call] = Counter()
    points = []
    for request in run.log.writes():
        if request.process == PRIMARY:
            count[request.call] += 1
            points.append((Point(request.call, count[request.call]), request.action))
    return points


def _without_look_alikes(writes: Sequence[tuple[Point, int]]) -> Iterator[tuple[Point, int]]:
    """Yield the first of writes that differ only in the namespace, or in a number within the name, of their object.

    A child in each of twenty namespaces makes twenty times as many plans, which show nothing new.

    >>> [point.call.namespace for point, _ in _without_look_alikes(
    ...     [(Point(Call("create", "secrets", namespace, "s")), 1) for namespace in ("a", "b")])]
    ['a']
    """
    seen = set()
    for point, action in writes:
        call = point.call
        alike = (call.verb, call.resource, call.subresource, _DIGITS.sub("#", call.name), point.nth, action)
        if alike not in seen:
            seen.add(alike)
            yield point, action


def derive(baseline: Baseline) -> list[Plan]:
    """Return the plans for a controller, mildest first."""
    observed = _Observed(baseline)
    sources = (
        _crashes, _restarts, _lost, _failures, _lasting_failures, _delays, _holds, _acts, _skips, _rewinds, _hand_overs
    )  # fmt: skip
    plans: dict[tuple[object, ...], Plan] = {}
    for source in sources:
        for plan in source(observed):
            plans.setdefault(plan.perturbations, plan)
    return list(plans.values())


def _crashes(observed: _Observed) -> Iterator[Plan]:
    for point, _ in observed.writes:
        yield Plan((Crash(point),), "what follows this write may never happen, and nothing in memory survives")
    for point, _ in observed.writes:
        why = "the process knows that the write has happened, and can do everything but the next one"
        yield Plan((Crash(point, answered=True),), why)


def _restarts(observed: _Observed) -> Iterator[Plan]:
    count = len(observed.actions)
    written = {action for _, action in observed.writes}
    for number in range(count + 1):
        if number not in written:
            # A crash after the response of the last write of a phase is the same.
            yield Plan((Down(number + 1, number),), "memory is lost while nothing happens")
    for number in range(1, count + 1):
        yield Plan((Down(number, number),), "the process does not receive the event, only its outcome")
    for number in range(1, count):
        if _same_object(observed, number) and not _comes_and_goes(observed, number):
            yield Plan((Down(number, number + 1),), "an intermediate version that the process does not receive")


def _lost(observed: _Observed) -> Iterator[Plan]:
    for point, _ in observed.writes:
        yield Plan((LoseResponse(point),), "the write has happened, and the process takes it for failed")


def _failures(observed: _Observed) -> Iterator[Plan]:
    seen: set[tuple[str, str, str]] = set()
    for request in observed.run.log.requests():
        call = request.call
        if _kind(call) in seen or not _matters(request):
            continue
        seen.add(_kind(call))
        written = next((point for point, _ in observed.writes if _kind(point.call) == _kind(call)), None)
        for error in _FAILURES.get(call.verb, ()):
            if error == "409" and not request.locked:
                continue  # the server itself retries a write that names no version
            if error != "timeout":
                yield Plan((Fail(Point(call), error),), "the first call of its kind fails; it has not happened")
            elif written is not None:
                yield Plan((Fail(written, error),), "the write has happened, and the process takes it for failed")


def _lasting_failures(observed: _Observed) -> Iterator[Plan]:
    """Failures of the last write of each kind: no later work hides that the process has given up."""
    last = {_kind(point.call): point for point, _ in observed.writes}
    # A controller may make the same call with a version and without one, which the server never refuses so.
    locked = _points_of(request for request in observed.run.log.writes() if request.process == PRIMARY)
    for point in last.values():
        for error, why in _LASTING.items():
            if error in _FAILURES.get(point.call.verb, ()) and (error != "409" or locked.get(point, False)):
                yield Plan((Fail(point, error, _TIMES),), why)


def _kind(call: Call) -> tuple[str, str, str]:
    return call.verb, call.resource, call.subresource


def _matters(request: Request) -> bool:
    return request.process == PRIMARY and request.call.resource not in UNJUDGED


def _delays(observed: _Observed) -> Iterator[Plan]:
    for point, _ in observed.writes:
        yield Plan((Delay(point),), "other work of the process overtakes this write")


def _holds(observed: _Observed) -> Iterator[Plan]:
    count = len(observed.actions)
    for number in range(count + 1):
        for resource in sorted(observed.changed_in(number) & observed.watches):
            yield Plan((Hold(resource, number, number),), "the process does not see its own writes for a while")
            if number < count:
                yield Plan((Hold(resource, number, number + 1),), "its own writes stay unseen across a user action")
    for number in range(1, count):
        resource = observed.resources[number - 1]
        if resource in observed.watches and not _comes_and_goes(observed, number):
            why = "the next user action is seen before this one"
            yield Plan((Hold(resource, number, number + 1, including=True),), why)


def _acts(observed: _Observed) -> Iterator[Plan]:
    for point, action in observed.writes:
        if action < len(observed.actions):
            yield Plan((Act(point),), "the user does not wait until the process is done")
            if observed.resources[action] in observed.watches:
                yield Plan((Act(point, unseen=True),), "the process works on with what it knew before the user acted")


def _skips(observed: _Observed) -> Iterator[Plan]:
    for number in range(1, len(observed.actions)):
        resource = observed.resources[number - 1]
        if resource not in observed.watches or _comes_and_goes(observed, number):
            continue
        if _same_object(observed, number):
            yield Plan((Skip(resource, number, number + 1),), "a list shows the last version only")


def _same_object(observed: _Observed, number: int) -> bool:
    one, next_ = observed.actions[number - 1], observed.actions[number]
    return (one.kind, one.key) == (next_.kind, next_.key)


def _comes_and_goes(observed: _Observed, number: int) -> bool:
    """Return whether an action creates an object that the next one deletes.

    A process that has never seen the object has nothing to do, and cannot leave behind what it leaves behind otherwise.
    """
    one, next_ = observed.actions[number - 1], observed.actions[number]
    return (one.verb, next_.verb) == ("create", "delete") and _same_object(observed, number)


def _rewinds(observed: _Observed) -> Iterator[Plan]:
    yield from rewinds(observed.run, observed.resources, observed.watches)


def _hand_overs(observed: _Observed) -> Iterator[Plan]:
    for point, action in observed.writes:
        yield Plan((HandOver(point),), "a former leader's write arrives late")
        if action < len(observed.actions):
            yield Plan((HandOver(point, 1),), "a former leader's write arrives after the world has changed")


# Pairs


def pairs_of(plans: Sequence[Plan]) -> Iterator[Plan]:
    """Plans with the perturbations of two plans, mildest first.

    >>> [pair.name for pair in pairs_of([Plan((Down(1, 0),)), Plan((Down(2, 1),)), Plan((Down(1, 2),))])][0]
    'restart after the start; restart after action 1'
    """
    for total in range(1, 2 * len(plans) - 2):
        for first in range(max(0, total - len(plans) + 1), (total + 1) // 2):
            one, other = plans[first], plans[total - first]
            if all(map(_compatible, *zip(*product(one.perturbations, other.perturbations), strict=True))):
                reasons = dict.fromkeys([one.reason, other.reason])
                yield Plan(one.perturbations + other.perturbations, "; and ".join(filter(None, reasons)))


def _compatible(one: Perturbation, other: Perturbation) -> bool:
    """Return whether two perturbations can happen in one run without one of them taking the other's place."""
    if isinstance(one, AtPoint) and isinstance(other, AtPoint) and one.at == other.at:
        return False
    if isinstance(one, HandOver) or isinstance(other, HandOver):
        # The first instance is gone after a hand-over.
        return all(
            isinstance(perturbation, HandOver | Fail | LoseResponse | Act) for perturbation in (one, other)
        ) and type(one) is not type(other)
    resources = [
        perturbation.resource for perturbation in (one, other) if isinstance(perturbation, Hold | Skip | Rewind)
    ]
    if len(resources) == 2 and resources[0] == resources[1]:
        return False
    return not (_actions(one) & _actions(other))


def _actions(perturbation: Perturbation) -> set[int]:
    """Return the actions that are not taken one by one while the process is idle."""
    if isinstance(perturbation, Down | Skip):
        return set(range(perturbation.first, perturbation.last + 1)) or {-perturbation.last - 1}
    return {-perturbation.after - 1} if isinstance(perturbation, Rewind) else set()
