"""Hot loops: a client that writes one object over and over, although nothing else happens.

A controller that reacts to others writes often, too. So a loop counts only while no other client changes anything in
the namespace, and only at a pace that no heartbeat has. Retries that wait longer each time fall out of that pace.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.fields import text_of
from kontend.race.finding import HOT_LOOP, RaceFinding
from kontend.race.log.actor import Actor
from kontend.race.log.event import AuditEvent, ObjectKey
from kontend.race.moment import Moment
from kontend.race.wording import object_name

#: Seconds between two writes of a loop, at most.
_PACE: Final = 1.0
#: Moments in the trace of a loop.
_SHOWN: Final = 6
_RUNS: Final = 50_000
_OWN: Final = Fix(Remedy.WRITE_LESS, spoken=Language.ANY)
_FAILS: Final = Fix(Remedy.BACK_OFF, spoken=Language.ANY)


@dataclass(slots=True)
class _Run:
    count: int = 0
    others: int = 0
    last: float = 0.0
    first: float = 0.0
    failed: bool = False
    changed: int = 0
    reported: bool = False
    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=_SHOWN))


class LoopJudge:
    """Counts the writes of each client and object."""

    def __init__(self, *, writes: int) -> None:
        self._writes = writes
        self._runs: OrderedDict[tuple[Actor, ObjectKey, str, str], _Run] = OrderedDict()
        #: Changes in each namespace, and those of each client in it.
        self._changes: Counter[str] = Counter()
        self._own: Counter[tuple[str, Actor]] = Counter()

    def note_change(self, event: AuditEvent) -> None:
        """Count a change of any object."""
        self._changes[event.key.namespace] += 1
        self._own[event.key.namespace, event.actor] += 1

    def judge(self, moment: Moment) -> RaceFinding | None:
        """Return the loop that a write makes certain, if there is one."""
        if moment.actor.is_user:
            return None
        namespace = moment.key.namespace
        others = self._changes[namespace] - self._own[namespace, moment.actor]
        place = (moment.actor, moment.key, moment.verb, moment.subresource)
        run = self._runs.setdefault(place, _Run())
        self._runs.move_to_end(place)
        if len(self._runs) > _RUNS:
            self._runs.popitem(last=False)
        failed = moment.code >= 400
        if run.others != others or moment.received - run.last > _PACE or run.failed != failed:
            reported = run.reported
            run = self._runs[place] = _Run(others=others, first=moment.received, failed=failed, reported=reported)
        run.count += 1
        run.changed += moment.changes
        run.last = moment.completed
        if run.count > self._writes - _SHOWN:  # of most runs nothing has to be kept
            run.moments.append(moment)
        if run.count < self._writes or run.reported:
            return None
        run.reported = True
        return self._finding(moment, run)

    def _finding(self, moment: Moment, run: _Run) -> RaceFinding:
        target = f"{object_name(moment)}{'/' if moment.subresource else ''}{moment.subresource}"
        times = f"{run.count} times in {max(0.0, run.last - run.first):.1f} s"
        if run.failed:
            what = f" tried to {moment.verb} {target} {times}; each time the server answered {_status(moment)}"
        elif not run.changed:
            what = f" wrote {target} {times}, and changed nothing"
        else:
            paths = list(dict.fromkeys(text_of(path) for moment in run.moments for path in moment.paths))
            fields = ", ".join(paths[:3]) + (" …" if len(paths) > 3 else "")
            what = f" wrote {target} {times}, {fields or 'itself'} each time"
        return RaceFinding(
            HOT_LOOP,
            (moment.actor, f"{what}, while no other client changed anything in the namespace"),
            (moment.actor,),
            _FAILS if run.failed else _OWN,
            tuple(run.moments),
            (moment,),
            repeats=True,
        )


def _status(moment: Moment) -> str:
    return f"{moment.code} {moment.message}".strip()
