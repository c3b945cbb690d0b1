"""Commits: the state after the writes of a call or of an action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kontend.cluster.state import Change, State
from kontend.explore.model.layout import Layout
from kontend.explore.model.outcome import Outcome
from kontend.explore.model.part import Part
from kontend.explore.model.state.canonical import masked_digest
from kontend.explore.model.state.key import issued_after, sum_after
from kontend.explore.model.state.process import OwnWrite
from kontend.explore.model.state.world import World
from kontend.explore.model.views.delivery import Delivery
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

#: Clusters after writes that are kept.
_MOST_WRITTEN: Final = 2_000


class Written(NamedTuple):
    """A cluster after the writes of an outcome."""

    outcome: Outcome
    state: State
    #: The writes, oldest first.
    changes: Sequence[Change]
    #: The sums of the digests of all objects, and without generations and identities.
    objects: int
    masked: int


class Committed(NamedTuple):
    """The result of some writes."""

    world: World
    #: Describe the deliveries that the bound on lag has forced.
    forced: tuple[Callable[[], str], ...]
    #: The writes, oldest first.
    changes: Sequence[Change]


class Commits:
    """Applies the outcomes of calls to states."""

    def __init__(self, layout: Layout, delivery: Delivery, part: Part | None = None) -> None:
        """``part`` records what is written, where only a part of a scenario is explored."""
        self._layout = layout
        self._delivery = delivery
        self._part = part
        self._guards_reads = layout.scenario.guards.read_your_writes
        #: Many states have the same cluster: instances have only taken local steps in between.
        self._written: dict[tuple[State, int, int], Written] = {}

    def forget(self) -> None:
        """Forget the clusters after writes."""
        self._written.clear()

    def written(self, world: World, outcome: Outcome) -> Written:
        """The cluster of a state after the writes of an outcome, made once."""
        question = (world.state, world.objects, id(outcome))
        written = self._written.get(question)
        if written is None:
            after = outcome.applied(world.state)
            changes = after.changes_since(world.state.resource_version)
            written = Written(
                outcome,  # kept, so that its id is not used again
                after,
                changes,
                sum_after(world.objects, changes, self._layout.keys.digest),
                sum_after(world.masked, changes, masked_digest),
            )
            if len(self._written) >= _MOST_WRITTEN:
                self._written.clear()
            self._written[question] = written
        return written

    def of(self, world: World, outcome: Outcome, label: str, *, index: int = -1, call: Call | None = None) -> Committed:
        """The state after the writes of a call, with views that would be too far behind brought forward.

        ``index`` and ``call`` are given for a call whose instance gets the response.
        """
        if outcome.registry is not None:
            self._layout.knowledge.learn(outcome.registry)
        changes: Sequence[Change] = ()
        if outcome.writes:
            written = self.written(world, outcome)
            changes = written.changes
            if self._part is not None:
                self._part.record(changes)
            issued, issued_sum = world.issued, world.issued_sum
            if outcome.issued:
                count = issued.get(label) or 0
                issued_sum = issued_after(issued_sum, label, count, count + 1)
                issued = issued.insert(label, count + 1)
            world = world.written(written.state, written.objects, written.masked, issued, issued_sum)
        if outcome.own is not None and call is not None and self._guards_reads:
            world = self._remembered(world, index, call, *outcome.own)
        if not outcome.writes:
            return Committed(world, (), ())
        return Committed(*self._delivery.pushed(world), changes)

    def _remembered(self, world: World, index: int, call: Call, key: Key, uid: str) -> World:
        """The state after a process has noted a write of its own, for the guard on reads."""
        process = world.process(index)
        kinds = self._layout.kinds[index]
        if call.kind not in kinds:
            return world
        at = kinds.index(call.kind)
        version = world.state.find(self._layout.resources[index][at], key)
        number = version.resource_version if version is not None else world.state.resource_version
        if process.view(at) < 0 or process.view(at) >= number:
            return world
        others = tuple(
            write for write in process.own if uid or write.uid or (write.kind, write.key) != (call.kind, key)
        )
        own = (*others, OwnWrite(call.kind, key, number, uid))
        return world.with_process(self._layout.places[index][0], process.changed(own=own))
