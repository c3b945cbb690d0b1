"""The outcome of a run: its records, its states, and the way in which it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from kontend.cluster.state import State
from kontend.explore.properties.property import Property
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import Perturbation
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log
from kontend.live.process.quiescence import Rest


@dataclass(frozen=True, slots=True)
class Exit:
    """A process that has ended by itself."""

    process: str
    code: int
    #: The end of its output.
    tail: str


@dataclass(frozen=True, slots=True)
class Timer:
    """A call that an idle process has made by itself, so many seconds after the run had ended for us."""

    call: Call
    seconds: float
    count: int = 1


@dataclass(slots=True)
class Run:
    """The outcome of a run."""

    plan: Plan
    log: Log
    rest: Rest
    initial: State
    final: State
    properties: tuple[Property, ...] = ()
    #: The states at the end of each phase.
    phases: list[State] = field(default_factory=list)
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
    longest_wait: float = 0.0
    watches: frozenset[str] = frozenset()
    #: Calls that came when the process had been idle for longer than the patience.
    timers: tuple[Timer, ...] = ()
    #: The reason why the plan could not be carried out; empty if it was.
    blocked: str = ""
