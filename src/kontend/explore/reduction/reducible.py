"""The part of a model that reductions may ask: its steps, and what one process can do by itself.

A reduction takes steps together, so it needs more than a search does: which calls stay within a process, which
deliveries others can tell, whether a timer has to wait. This is all of it. A reduction that asks for more depends on
how the model carries out its steps, and belongs to the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kontend.cluster.state import Change, State
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.process import MetVersion, Process
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.runtime.client.call import Call


class Views(Protocol):
    """The delivery of events to the views of a process."""

    def can_relist(self, world: World, number: int, at: int) -> bool:
        """A relist of a view enqueues something else than deliveries."""

    def depends_on_order(self, world: World, number: int, further: Sequence[Change] = ()) -> bool:
        """The requests of an undelivered event, or of a further one, depend on what else was delivered."""

    def pushed_process(self, world: World, number: int) -> World:
        """The state after a write, with the views of a process brought forward that would be too far behind."""

    def without_seen(self, number: int, process: Process) -> Process:
        """A process without the own writes that its views have seen."""


class Reading(Protocol):
    """The cached reads of a process."""

    def is_local(self, process: Process, index: int, call: Call) -> bool:
        """A view of the process answers a call."""

    def must_wait(self, process: Process, index: int, call: Call) -> bool:
        """A call waits until a view has seen an own write of the process."""


class Idleness(Protocol):
    """Idleness: nothing is left to do before a timer of a number of seconds."""

    def is_idle(self, world: World, index: int, seconds: float) -> bool:
        """An instance has nothing to do."""

    def process_is_idle(self, world: World, number: int, seconds: float) -> bool:
        """All instances of a process have nothing to do."""

    def other_processes_are_idle(self, world: World, number: int, seconds: float) -> bool:
        """The instances of all other processes have nothing to do."""


class ProcessKeys(Protocol):
    """The keys of processes within a state."""

    def of_process(self, world: World, number: int) -> bytes:
        """The key of one process."""

    def different_processes(self, world: World) -> Iterable[int]:
        """All processes but those of which an interchangeable one is in the same situation."""

    def which_version(self, state: State, number: int, process: Process, met: MetVersion) -> int:
        """A version that a process has met, in relation to a state."""

    def version_at(self, state: State, number: int, process: Process, met: MetVersion) -> MetVersion:
        """The version that :meth:`which_version` described."""


class ProcessSimilarity(Protocol):
    """The keys of processes without counters."""

    def of_process(self, world: World, number: int) -> bytes:
        """The key of one process."""


class ProcessFaults(Protocol):
    """The faults that can happen to a process."""

    def of_process(self, world: World, number: int) -> list[Step]:
        """Those of one process."""


class UserActions(Protocol):
    """The actions of users."""

    def steps(self, world: World) -> list[Step]:
        """Those that can be taken in a state."""


class Local(Protocol):
    """The mechanics of a model, as far as they concern one process."""

    @property
    def keys(self) -> ProcessKeys: ...
    @property
    def similarity(self) -> ProcessSimilarity: ...
    @property
    def delivery(self) -> Views: ...
    @property
    def reads(self) -> Reading: ...
    @property
    def timers(self) -> Idleness: ...
    @property
    def faults(self) -> ProcessFaults: ...
    @property
    def users(self) -> UserActions: ...


class Reducible(Protocol):
    """A model whose steps are taken together."""

    @property
    def layout(self) -> Layout: ...
    @property
    def mechanics(self) -> Local: ...

    def steps(self, world: World) -> list[Step]:
        """The enabled steps of a state."""

    def next(self, world: World, step: Step) -> Transition:
        """Take a step."""

    def is_stuck(self, world: World) -> bool:
        """The search does not go beyond a state."""
