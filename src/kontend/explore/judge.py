"""What must hold: the user's properties and the built-in ones, of worlds and of writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kontend.explore.engine import Engine
from kontend.explore.footprints import Looked
from kontend.explore.moves import Step
from kontend.explore.outcome import Place
from kontend.explore.scenario import Property, holds
from kontend.explore.world import World
from kontend.explore.wrong_writes import wrong_writes


class Wrong(NamedTuple):
    """Something that does not hold."""

    property: str
    sentence: str
    #: The line that made the call, for a write that is wrong in itself.
    place: Place | None = None


class Judge:
    """Asks the properties of a scenario. What was answered once is not asked again."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._properties = engine.scenario.properties
        self._answers: dict[tuple[object, ...], bool] = {}
        #: For each set of objects: for each property that is about a cluster, whether it holds.
        self._holds: dict[int, tuple[bool, ...]] = {}
        self._of_a_cluster = [each for each in self._properties if each.arity == 1]
        self._of_a_write = [each for each in self._properties if each.mode in ("always", "never")]
        #: The places of what is asked of worlds, for those who look at :meth:`holds`.
        self.places = {each.name: at for at, each in enumerate(self._of_a_cluster)}

    def holds(self, world: World) -> tuple[bool, ...]:
        """For each property that is about a cluster, whether it holds in a world."""
        found = self._holds.get(world.objects)
        if found is None:
            found = self._holds[world.objects] = tuple(self._ask(each, world) for each in self._of_a_cluster)
        return found

    def at_the_start(self, world: World) -> Iterator[Wrong]:
        """What is wrong before anything has happened."""
        for each in self._of_a_cluster:
            if each.mode in ("always", "never") and self._ask(each, world) != (each.mode == "always"):
                yield Wrong(each.name, f"{each.name} is broken at the start")

    def badly_settled(self, each: Property) -> Wrong:
        """What is wrong where everything has settled and a property does not hold."""
        return Wrong(each.name, f"everything has settled, and {each.name} does not hold")

    def another_end(self) -> Wrong:
        """What is wrong with an end that no undisturbed run comes to."""
        return Wrong("same end", "everything settles in a state that no undisturbed run ends in")

    def of_a_write(self, world: World, step: Step, pilot: int) -> Iterator[Wrong]:
        """What is wrong with a write that was made in a world."""
        if step.flight is not None:
            who, place = self.engine.names[pilot], step.flight.node.place
            for name, sentence in wrong_writes(world.state, who, step.flight, step.changes):
                yield Wrong(name, sentence, place)
        for each in self._of_a_write:
            worlds = (world, step.world) if each.arity == 2 else (step.world,)
            if self._ask(each, *worlds) != (each.mode == "always"):
                yield Wrong(each.name, f"{each.name} is broken by {step.text}")

    def _ask(self, each: Property, *worlds: World) -> bool:
        """Whether a property holds; worlds with the same objects have the same answer."""
        question = (each.name, *(world.objects for world in worlds))
        found = self._answers.get(question)
        if found is None:
            seen = self.engine.footprints.seen
            found = self._answers[question] = holds(each, *(Looked(world.state, seen) for world in worlds))
        return found
