"""Properties of runs, without a word from the user: the explorer's, judged on what a real process has done.

A process has read what it has been sent. The server accepts a write that overwrites a change which its process had not
received only when the write carries no resourceVersion, so each such write is a lost update, whatever the code meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kontend.cluster.cluster import Cluster
from kontend.cluster.state import State
from kontend.explore.properties.built_in import BuiltIn, broken_by, not_eventually
from kontend.explore.properties.property import Property
from kontend.explore.properties.writes import Fault, faults_of_writes
from kontend.kube.meta.names import Key
from kontend.live.gate.call import UNJUDGED
from kontend.live.gate.records import Request
from kontend.live.process.quiescence import Rest
from kontend.live.properties.final_state import Difference, Place, differences
from kontend.live.properties.masking import Mask, comparable
from kontend.live.properties.needless import NEEDLESS_DELETION, Deleted, needless_deletions
from kontend.live.properties.put_back import is_put_back
from kontend.live.runs.outcome import Run, steps_of

PROCESS_EXIT: Final = "process exit"
LEAK: Final = "leak"
#: So many failures of one call in a row, with no success after them, are taken for failing forever.
_REPEATED: Final = 4
#: The longest time between two attempts of a process that backs off, at least, in seconds.
_BACKED_OFF: Final = 0.2
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated property, and the requests at fault."""

    property: str
    sentence: str
    #: Numbers of records in the log.
    culprits: tuple[int, ...] = ()
    difference: tuple[Difference, ...] = ()
    #: The same in every run that violates the property in the same way.
    key: tuple[str, ...] = ()
    #: It is about the end of the run, so that time may heal it.
    final: bool = False
    #: The write at fault, for properties of single writes.
    fault: Fault | None = None


class Expected(NamedTuple):
    """Facts that unperturbed runs have shown: their comparable final states, the mask, and failing calls."""

    finals: Sequence[Any]
    mask: Mask
    failing: frozenset[str] = frozenset()
    #: Fields that cannot be judged: unperturbed runs differ in them.
    unstable: frozenset[Place] = frozenset()
    #: How often unperturbed runs delete each object, at most.
    deletions: Mapping[Deleted, int] = MappingProxyType({})

    def judged(self, found: Sequence[Difference]) -> list[Difference]:
        """Return the differences that can be judged: those beside an unstable field, or in one, cannot."""
        return [each for each in found if not any(each.place.is_beside(other) for other in self.unstable)]


class _Received(NamedTuple):
    versions: frozenset[tuple[Any, ...]]

    def before_work(self, key: Key) -> int | None:
        """All count: it is not known for what a process has done its work."""
        del key
        return None


def findings(run: Run, expected: Expected) -> list[Finding]:
    """Return the properties that a run violates, the most telling first."""
    if run.blocked:
        return []
    violations = [*_exits(run), *_writes(run, expected)]
    at_fault = {number for each in violations for number in each.culprits}  # what is wrong with those is known
    violations += [each for each in _needless(run, expected) if not at_fault.intersection(each.culprits)]
    violations += _user_properties(run)
    if run.rest is Rest.BUSY:
        violations.append(_never_settles(run))
    elif run.rest is Rest.IDLE:
        violations += _fails_forever(run, expected)
        violations += _diverged(run, expected)
    unique: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for finding in violations:
        unique.setdefault((finding.property, finding.key), finding)
    return list(unique.values())


def _exits(run: Run) -> Iterator[Finding]:
    for ended in run.exits:
        tail = "\n".join(f"    {line}" for line in ended.tail.splitlines())
        sentence = f"{ended.process} {ended.how}; the end of its output:\n{tail}"
        yield Finding(PROCESS_EXIT, sentence, key=(str(ended.code),))


def _writes(run: Run, expected: Expected) -> Iterator[Finding]:
    is_alone = len({request.process for request in run.log.requests()}) == 1
    for request in run.log.writes():
        assert request.before is not None  # it has changed something
        faults = faults_of_writes(
            request.before,
            request.process,
            _Received(request.received),
            _Written(request.call.verb, request.key.name),
            request.call.resource,
            request.changes,
            own=_manager(request) if is_alone else "",
        )
        for fault in faults:
            if is_put_back(run, fault, expected.mask, lambda: _differing(run, expected)):
                continue
            yield Finding(str(fault.property), fault.sentence, (request.number,), key=(str(request.call),), fault=fault)


def _needless(run: Run, expected: Expected) -> Iterator[Finding]:
    for request, owner in needless_deletions(run, expected.deletions):
        sentence = (
            f"{request.process} deletes {request.call.resource} {request.key}, which {owner} needs: another one is "
            "made, without what was in it; unperturbed runs keep it"
        )
        yield Finding(NEEDLESS_DELETION, sentence, (request.number,), key=(str(request.call),))


def _manager(request: Request) -> str:
    """Return the field manager of a write; empty where managed fields do not show it."""
    for change in request.changes:
        if change.resource == request.call.resource and change.old is not None and change.new is not None:
            before = set(change.old.managed)
            written = {entry.manager for entry in change.new.managed if entry not in before}
            return written.pop() if len(written) == 1 else ""
    return ""


def _user_properties(run: Run) -> Iterator[Finding]:
    """The user's properties: invariants at the start and after each change, ``eventually`` in the final state."""
    steps = list(steps_of(run)) if any(prop.is_invariant for prop in run.properties) else []
    for prop in run.properties:
        if prop.is_invariant:
            if prop.arity == 1 and prop.is_broken_by(prop.ask(Cluster(state=run.initial))):
                yield Finding(prop.name, f"{prop.name} does not hold at the start")
                continue
            for step in steps:
                clusters = [Cluster(state=step.before), Cluster(state=step.after)][-prop.arity :]
                if prop.is_broken_by(prop.ask(*clusters)):
                    yield Finding(prop.name, broken_by(prop.name, step.text).sentence, (step.number,))
                    break
        elif prop.mode == "eventually" and run.rest is Rest.IDLE and not prop.ask(Cluster(state=run.final)):
            yield Finding(prop.name, not_eventually(prop.name).sentence, final=True)


def never_held(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the names of the user's ``sometimes`` properties that hold in no state of any run."""
    for prop in runs[0].properties if runs else ():
        if prop.mode == "sometimes" and not any(_holds_in(prop, run) for run in runs):
            yield prop.name


def _holds_in(question: Property, run: Run) -> bool:
    states = [run.initial, *(step.after for step in steps_of(run))]
    return any(question.ask(Cluster(state=state)) for state in states)


class _Written(NamedTuple):
    verb: str
    name: str


def _never_settles(run: Run) -> Finding:
    if run.unready:
        return Finding(BuiltIn.NEVER_SETTLES, "the process does not become ready again", key=("ready",))
    writes = run.log.writes()[-_SHOWN:]
    repeated = failing_calls(run)
    if repeated:
        latest = max((requests[-1] for requests in repeated.values()), key=lambda request: request.number)
        times = len(repeated[str(latest.call)])
        why = f"it repeats {latest.call} ({times} times), which fails: {latest.code} {latest.message}"
        return Finding(BuiltIn.NEVER_SETTLES, f"the process does not become idle: {why}", (latest.number,))
    if not writes:
        last = _calls(list(run.log.requests())[-_SHOWN:])
        why = ": it uses processor time all the while" if run.working else ""
        return Finding(BuiltIn.NEVER_SETTLES, f"the process does not become idle{why}; its last requests: {last}")
    return Finding(
        BuiltIn.NEVER_SETTLES,
        f"the process does not stop writing ({len(run.log.writes()):,} writes); its last writes: {_calls(writes)}",
        tuple(write.number for write in writes),
    )


def _calls(requests: Sequence[Request]) -> str:
    """Return the calls of some requests, each of them once."""
    return ", ".join(dict.fromkeys(str(request.call) for request in requests)) or "none"


def failing_calls(run: Run) -> dict[str, list[Request]]:
    """Return the calls that fail again and again at the end of a run, with no success after them.

    Only failures that nothing has provoked count: after the last event that the process was sent and the last start.
    """
    streaks: dict[str, list[Request]] = {}
    for request in run.log.records:
        if not isinstance(request, Request):
            streaks.clear()
            continue
        text = str(request.call)
        if request.call.resource in UNJUDGED or request.call.connects or not request.code:
            continue
        if request.code >= 400 and not request.perturbed and (request.call.writes or request.code != 404):
            streaks.setdefault(text, []).append(request)
        elif request.code < 400:
            streaks.pop(text, None)
    repeated = {text: requests for text, requests in streaks.items() if len(requests) >= _REPEATED}
    return {text: requests for text, requests in repeated.items() if not _makes_sure(requests)}


def _makes_sure(requests: Sequence[Request]) -> bool:
    """Return whether a process creates an object to be sure that it is there: it does not take the answer for an error.

    A process that does repeats the call after longer and longer times.
    """
    if any(request.call.verb != "create" or request.code != HTTPStatus.CONFLICT for request in requests):
        return False
    return all(later.arrived - earlier.arrived < _BACKED_OFF for earlier, later in pairwise(requests))


def _fails_forever(run: Run, expected: Expected) -> Iterator[Finding]:
    for text, requests in failing_calls(run).items():
        if text not in expected.failing:
            sentence = (
                f"{text} fails again and again ({len(requests)} times): {requests[-1].code} {requests[-1].message}"
            )
            yield Finding(BuiltIn.FAILS_FOREVER, sentence, (requests[-1].number,), key=(text,), final=True)


def nearest_differences(run: Run, state: State, expected: Expected) -> list[Difference]:
    """Return the fields in which a state of a run differs from the nearest expected one."""
    final = comparable(run.initial, state, expected.mask)
    if not expected.finals or final in expected.finals:
        return []
    return min((expected.judged(differences(final, candidate)) for candidate in expected.finals), key=len)


def _differing(run: Run, expected: Expected) -> list[Place] | None:
    """Return the places in which the end of a run differs from unperturbed ones; None where that is not known."""
    if run.rest is not Rest.IDLE or not expected.finals:
        return None
    return [each.place for each in nearest_differences(run, run.final, expected)]


def _diverged(run: Run, expected: Expected) -> Iterator[Finding]:
    nearest = nearest_differences(run, run.final, expected)
    if not nearest:
        return
    shown = "; ".join(map(str, nearest[:_SHOWN]))
    more = f" and {len(nearest) - _SHOWN} more" if len(nearest) > _SHOWN else ""
    extra = [difference for difference in nearest if difference.expected is None and not difference.place.path]
    name = LEAK if extra and len(extra) == len(nearest) else str(BuiltIn.DIVERGED)
    what = "objects are left that no unperturbed run leaves" if name == LEAK else "the final state differs"
    key = tuple(sorted({str(difference.place) for difference in nearest}))
    yield Finding(name, f"{what}: {shown}{more}", difference=tuple(nearest), key=key, final=True)
