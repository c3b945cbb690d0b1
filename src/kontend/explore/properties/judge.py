"""Judges states and transitions: the user's properties and the built-in ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.state import Change
from kontend.explore.model.model import Model
from kontend.explore.model.state.process import InFlight
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Transition
from kontend.explore.program.progress import Failure
from kontend.explore.program.symbols import bind_call
from kontend.explore.properties.built_in import Breach, broken_by, initially_broken, raised
from kontend.explore.properties.fights import fights
from kontend.explore.properties.property import Property
from kontend.explore.properties.writes import faults_of_writes
from kontend.kube.meta.names import Key

#: Writes whose violations are kept.
_MOST_WRITES: Final = 2_000


def sole_manager(model: Model, world: World, in_flight: InFlight, instance: int) -> str:
    """The field manager of a reconcile, if no other process writes as that; else empty.

    Other instances do, and so does the successor of a process whose write arrives late.
    """
    if len(model.layout.siblings(instance)) > 1 or any(late.in_flight is in_flight for late in world.late):
        return ""
    return model.programs[instance].controller.name


def _has_read(in_flight: InFlight, change: Change) -> bool:
    """The reconcile has read the version that it replaces."""
    return change.old is not None and (change.resource, change.key, change.old.resource_version) in in_flight.versions


class Judge:
    """Asks the properties of a scenario. The same question about the same objects is asked once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        properties = model.scenario.properties
        self._answers: dict[tuple[object, ...], bool] = {}
        #: For each set of objects: for each property of clusters, whether it holds.
        self._holds: dict[int, tuple[bool, ...]] = {}
        #: The violations by writes of reconciles, which many states share: others have only taken local steps.
        self._of_writes: dict[tuple[object, ...], tuple[Breach, ...]] = {}
        self._users = frozenset(user.name for user in model.scenario.everybody())
        self._of_clusters = [prop for prop in properties if prop.arity == 1]
        self._have_answers = [prop.has_answer for prop in properties if prop.has_answer is not None]
        self._invariants = [prop for prop in properties if prop.is_invariant]
        #: The index of each property in the answers of :meth:`holds`.
        self.positions = {prop.name: at for at, prop in enumerate(self._of_clusters)}

    def forget(self) -> None:
        """Forget all answers."""
        self._answers.clear()
        self._holds.clear()
        self._of_writes.clear()

    def holds(self, world: World) -> tuple[bool, ...]:
        """For each property of clusters, whether its question is answered with yes in a state.

        Then, for each one whose question may have no answer, whether there is one.
        """
        answers = self._holds.get(world.objects)
        if answers is None:
            cluster = Cluster(state=world.state)
            answers = self._holds[world.objects] = (
                *(self._ask(prop, world) for prop in self._of_clusters),
                *(bool(question(cluster)) for question in self._have_answers),
            )
        return answers

    def of_initial(self, world: World) -> Iterator[Breach]:
        """Violations in the initial state."""
        for prop in self._of_clusters:
            if prop.is_invariant and prop.is_broken_by(self._ask(prop, world)):
                why = "" if prop.unanswered is None else prop.unanswered(Cluster(state=world.state))
                yield initially_broken(prop.name, why)

    def of_write(self, world: World, transition: Transition, instance: int) -> Iterator[Breach]:
        """Violations by a write that an instance (or the user: -1) made in a state."""
        if transition.in_flight is not None and transition.changes:
            yield from self._of_call(world, transition, transition.in_flight, instance)
        for prop in self._invariants:
            worlds = (world, transition.world) if prop.arity == 2 else (transition.world,)
            if prop.is_broken_by(self._ask(prop, *worlds)):
                yield broken_by(prop.name, transition.text)

    def _of_call(self, world: World, transition: Transition, in_flight: InFlight, instance: int) -> tuple[Breach, ...]:
        """Violations by the writes of one call, whatever the user's properties say; judged once."""
        at, changes = transition.at, transition.changes
        own = sole_manager(self.model, world, in_flight, instance)
        # The last change stands for all of them: it is made with them.
        question = (world.state, changes[-1], instance, own, in_flight.node.id, at, in_flight.versions, in_flight.uuids)
        findings = self._of_writes.get(question)
        if findings is None:
            call, line = in_flight.node.calls[at], in_flight.node.lines[at]
            if in_flight.uuids:
                call = bind_call(call, in_flight.uuids)
            resource = self.model.resource(world, call.kind)
            writer = self.model.names[instance]
            faults = faults_of_writes(world.state, writer, in_flight, call, resource, changes, own=own)
            # A forced apply need not read what it takes back: it says that its own value counts.
            is_forced = ("force", "true") in call.query
            taken_back = (
                fault
                for change in changes
                if change.resource == resource and (is_forced or _has_read(in_flight, change))
                for fault in fights(
                    world.state, writer, change, self._users, self.model.scenario.enforced, is_forced=is_forced
                )
            )
            findings = tuple(Breach(fault.property, fault.sentence, line) for fault in chain(faults, taken_back))
            if len(self._of_writes) >= _MOST_WRITES:
                self._of_writes.clear()
            self._of_writes[question] = findings
        return findings

    def of_failure(self, failure: Failure, instance: int, request: Key) -> Iterator[Breach]:
        """The violation by a reconcile that raised a programming error."""
        if failure.is_bug:
            yield raised(self.model.names[instance], str(request), failure)

    def _ask(self, prop: Property, *worlds: World) -> bool:
        question = (prop.name, *(world.objects for world in worlds))
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = prop.ask(*(Cluster(state=world.state) for world in worlds))
        return answer
