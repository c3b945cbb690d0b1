"""Recording of a run that goes on: what becomes its outcome when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kontend.cluster.state import State
from kontend.live.gate.call import UNJUDGED, Call
from kontend.live.process.process import Process
from kontend.live.process.quiescence import Rest, Wait
from kontend.live.runs.outcome import Exit, Run
from kontend.live.runs.setting import PRIMARY, SECOND
from kontend.live.runs.stage import Stage

_PORT_TAKEN: Final = "address already in use"
_TWO_INSTANCES: Final = (
    "two instances cannot run at the same time: the command binds a fixed port; "
    "put {port} in its place, or switch the listener off"
)


@dataclass(slots=True)
class Recording:
    """Facts about a run, as they come."""

    stage: Stage
    rest: Rest = Rest.IDLE
    phases: list[State] = field(default_factory=list)
    settled: dict[int, State] = field(default_factory=dict)
    exits: list[Exit] = field(default_factory=list)
    caches: set[str] = field(default_factory=set)
    watches: frozenset[str] = frozenset()
    failing: set[Call] = field(default_factory=set)
    longest_wait: float = 0.0
    working: bool = False
    unready: bool = False
    silent: bool = False
    listens: frozenset[int] = frozenset()
    blocked: str = ""
    port_taken: bool = False

    def note_silence(self, wait: Wait) -> None:
        """Note the longest silence of a wait that the process has broken by itself, other than while it started."""
        if not self.stage.fresh:
            self.longest_wait = max(self.longest_wait, wait.longest_silence)

    def note_rest(self, rest: Rest, wait: Wait) -> None:
        """Note how a wait has ended."""
        stage = self.stage
        self.rest = rest
        self.working = wait.working
        self.unready = rest is Rest.BUSY and not stage.instances.is_ready(stage.current)

    def note_phase(self, number: int) -> None:
        """Note that a phase is over."""
        gate = self.stage.gate
        self.phases.append(self.stage.server.state)
        if not self.stage.holds.begun:
            self.settled[gate.action] = self.stage.server.state
        watched = gate.watched(PRIMARY)
        self.caches |= watched
        self.failing |= gate.activity.failed(self.stage.current).keys()
        if number == 0:
            self.watches = frozenset(watched)
            self.listens = self.stage.instances[PRIMARY].listening()

    def note_exit(self, process: Process) -> None:
        """Note that a process has ended by itself."""
        tail = process.output.last_lines()
        self.port_taken = _PORT_TAKEN in tail.lower()
        if process.name == SECOND and self.port_taken:
            self.blocked = _TWO_INSTANCES
            return
        self.exits.append(Exit(process.name, process.code if process.code is not None else 0, tail))

    def note_no_successor(self) -> None:
        """Note that the other instance has not taken over from the paused one, if it is for want of a lock.

        A lock that does not expire belongs to the first instance for as long as its pod is there. It is only paused, so
        the other one is right to wait or to end; nothing can be said about a late write then.
        """
        requests = [each for each in self.stage.gate.log.requests() if each.process == SECOND]
        if self.blocked or any(each.changed and each.call.resource not in UNJUDGED for each in requests):
            return
        failed = next((each for each in reversed(requests) if each.code >= 400), None)
        why = f": {failed.call} fails: {failed.code} {failed.message}" if failed is not None else ""
        self.blocked = f"the other instance does not take over from one that is paused{why}"
        self.exits = [ended for ended in self.exits if ended.process != SECOND]

    def outcome(self, final: State, **more: Any) -> Run:
        """Return the run, as far as it has come, with a final state; ``more`` are further fields of it."""
        stage = self.stage
        return Run(
            stage.plan,
            stage.gate.log,
            self.rest,
            stage.setting.workload.state,
            final,
            stage.setting.properties,
            phases=self.phases,
            settled=self.settled,
            exits=self.exits,
            outputs=stage.outputs,
            missed=tuple(stage.decisions.waiting),
            silent=self.silent,
            unready=self.unready,
            working=self.working,
            longest_wait=self.longest_wait,
            watches=self.watches,
            caches=self.caches,
            refusals=stage.user.refusals,
            failing=self.failing,
            blocked=self.blocked,
            port_taken=self.port_taken,
            listens=self.listens,
            **more,
        )
