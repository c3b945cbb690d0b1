"""The outcome of a run: its records, its states, and the way in which it ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kontend.cluster.state import State
from kontend.explore.properties.property import Property
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import Perturbation
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening, Log, Request
from kontend.live.process.quiescence import Rest


@dataclass(frozen=True, slots=True)
class Exit:
    """A process that has ended by itself."""

    process: str
    code: int
    #: The end of its output.
    tail: str

    @property
    def how(self) -> str:
        """The way in which it has ended.

        >>> Exit("controller", -9, "").how, Exit("controller", 1, "").how
        ('was killed by SIGKILL', 'exited with code 1')
        """
        return f"was killed by {_signal_name(-self.code)}" if self.code < 0 else f"exited with code {self.code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


@dataclass(frozen=True, slots=True)
class Timer:
    """A call that an idle process has made by itself, and the seconds after the run had ended for us."""

    call: Call
    seconds: float
    count: int = 1
    #: The longest time before one of its calls, since the process had become idle or since the call before it.
    longest: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of a run. It is finished: nothing changes it any more."""

    plan: Plan
    log: Log
    rest: Rest
    initial: State
    final: State
    properties: tuple[Property, ...] = ()
    #: The number of the run in its campaign, by which its log is kept.
    number: int = 0
    #: The states at the end of each phase.
    phases: list[State] = field(default_factory=list)
    #: The states at the end of phases in which nothing was held back, by the number of actions that the user had taken.
    settled: dict[int, State] = field(default_factory=dict)
    exits: list[Exit] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    #: Perturbations whose point was not reached.
    missed: tuple[Perturbation, ...] = ()
    #: No request came from the process at all.
    silent: bool = False
    #: The condition of ``--ready`` never held.
    unready: bool = False
    #: It never became idle because the process used processor time, not because of its requests.
    working: bool = False
    seconds: float = 0.0
    #: The processor time of its processes and, if no other run went on, of the server.
    processor: float = 0.0
    longest_wait: float = 0.0
    #: The resources that the process watched when it had started, and at the end of any phase.
    watches: frozenset[str] = frozenset()
    caches: set[str] = field(default_factory=set)
    #: The user's actions that were refused, by number, and why.
    refusals: dict[int, str] = field(default_factory=dict)
    #: The state when the idle process had been watched for timers; None if it was not.
    observed: State | None = None
    #: Calls that came when the process had been idle for longer than the patience.
    timers: tuple[Timer, ...] = ()
    #: The calls whose last attempt had failed at the end of any phase.
    failing: set[Call] = field(default_factory=set)
    #: The seconds after which the process has repaired the final state by itself, if it has; 0 if it was right.
    healed: float | None = None
    #: The reason why the plan could not be carried out; empty if it was.
    blocked: str = ""
    #: The ports on which the process waited for connections when it had started.
    listens: frozenset[int] = frozenset()
    #: The process has ended because its port was taken: by the process of another run, if there was one.
    port_taken: bool = False


class Step(NamedTuple):
    """A change of the state: by a process, by the user, or between two of theirs by the server's own controllers."""

    before: State
    after: State
    text: str
    number: int
    #: The server itself has made it.
    by_server: bool = False


def steps_of(run: Run) -> Iterator[Step]:
    """Yield the steps of a run that have changed something, in the order of their commits."""
    known: list[Step] = []
    for number, record in enumerate(run.log.records, start=1):
        if not isinstance(record, Request | Happening) or record.before is None or record.after is None:
            continue
        if record.after.resource_version > record.before.resource_version:
            text = f"{record.process} {record.call}" if isinstance(record, Request) else record.text
            known.append(Step(record.before, record.after, text, number))
    last, latest = run.initial, 0
    for step in sorted(known, key=lambda step: step.before.resource_version):  # not in the order of their arrival
        if step.before.resource_version > last.resource_version:
            yield Step(last, step.before, "the server", step.number, by_server=True)
        # A request that has waited is committed after others that have arrived later.
        yield step if step.number > latest else step._replace(text=f"{step.text}, carried out late")
        last, latest = step.after, max(latest, step.number)
    if run.final.resource_version > last.resource_version:
        yield Step(last, run.final, "the server", len(run.log.records), by_server=True)
