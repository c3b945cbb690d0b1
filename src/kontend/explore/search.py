"""The search: every world within the bounds, the least disturbed first.

Worlds are visited in the order of how many perturbations led to them (a stale read, a reconcile begun while another is
under way, a user acting in the middle), then of how many moves. So the undisturbed run comes first, and tells how
everything should end; and the first counterexample is the simplest one. When all worlds are known, what never settles
shows as a set of worlds without a way out.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from kontend.cluster.state import State
from kontend.explore.ends import end_key
from kontend.explore.engine import Engine, replay
from kontend.explore.expander import Expander, Found
from kontend.explore.graph import Graph
from kontend.explore.judge import Judge, Wrong
from kontend.explore.limits import Limits
from kontend.explore.moves import Move
from kontend.explore.outcome import Place
from kontend.explore.scenario import Scenario, never_taken
from kontend.explore.story import violation_of
from kontend.explore.verdict import Verdict, Violation
from kontend.explore.workers import Workers
from kontend.kube.meta.names import Key

#: After how many worlds progress is told and the clock is looked at.
_OFTEN: Final = 500
INTERRUPTED: Final = "it was interrupted"
#: The properties that say that an update was lost; a vanished element is the lost update of an element.
_LOSSES: Final = ("lost update", "vanished element")


class _Violated(NamedTuple):
    """What is known of a violation until its story is told."""

    cost: int
    length: int
    property: str
    sentence: str
    #: The world before, and the moves from there.
    number: int
    last: tuple[Move, ...]


class Search:
    """One search of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        until_first: bool = False,
        undisturbed: bool = False,
        depth_first: bool = False,
        jobs: int = 1,
        progress: Callable[[int, int], None] | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Search ``scenario``.

        ``undisturbed`` leaves out all that disturbs; ``depth_first`` goes to the end of each way first (stories are
        not the shortest then); ``jobs`` is the number of processes, which changes nothing but the time; ``progress``
        is told the numbers of worlds and moves from time to time; an ``engine`` may begin elsewhere.
        """
        self.scenario = scenario
        self.engine = engine or Engine(scenario)
        self._progress = progress
        self._until_first = until_first
        self._undisturbed = undisturbed
        self._depth_first = depth_first
        expander = Expander(self.engine)
        self._expander = Workers(expander, jobs) if jobs > 1 else expander
        self._limits = Limits(scenario.bounds)
        self._judge = Judge(self.engine)
        self._places = self._judge.places
        self.verdict = Verdict(bounds=str(scenario.bounds))
        self.verdict.note_what_is_left_out(each.controller for each in dict.fromkeys(self.engine.behaviours))
        self._begin()

    def run(self) -> Verdict:
        """Search until the space is closed, a limit is reached, or (``until_first``) something is violated."""
        begun = time.perf_counter()
        verdict = self.verdict
        try:
            verdict.stopped = self._explore()
        except KeyboardInterrupt:
            verdict.stopped = INTERRUPTED
        finally:
            verdict.runs = self._expander.conversations
            self._expander.close()
        verdict.closed = not verdict.stopped
        if verdict.closed or self._knows_undisturbed:
            self._judge_cycles()
        self._judge_ends()
        self._judge_untested()
        verdict.end_states = [state for _, state in self._ends.values()]
        verdict.undisturbed_ends = len(self._ends.keys() & self._undisturbed_ends())
        verdict.worlds = len(self.graph)
        verdict.cut = self.graph.cut
        verdict.violations += [self._told(found) for found in self._violations.values()]
        verdict.seconds = time.perf_counter() - begun
        return verdict

    def ends(self) -> frozenset[bytes]:
        """What stands for the states in which everything settles (:func:`end_key`)."""
        return frozenset(self._ends)

    @property
    def lost(self) -> dict[Place, Violation]:
        """The shortest story for each line of code that can lose an update."""
        return {place: self._told(found) for place, found in self._lost.items()}

    # Finding worlds

    def _explore(self) -> str:
        """Look at all worlds; returns why it stopped before the end, if it did."""
        while True:
            stopped = self._pass()
            if stopped is not None:
                return stopped
            self._begin()

    def _begin(self) -> None:
        """Forget all worlds."""
        self.graph = Graph()
        self.verdict.moves = 0
        self._violations: dict[str, _Violated] = {}
        self._lost: dict[Place, _Violated] = {}
        #: End states by what they are whatever the uuids: the cheapest world, and the state.
        self._ends: dict[bytes, tuple[int, State]] = {}
        #: What stands for an end state, by what stands for its objects.
        self._end_keys: dict[int, bytes] = {}
        #: Whether all undisturbed runs are known.
        self._knows_undisturbed = False
        self._wrote = False
        self._created: set[Key] = set()
        #: Of the user's actions: those that were taken somewhere, and why the others were refused.
        self._taken: set[int] = set()
        self._refused: dict[int, str] = {}

    def _pass(self) -> str | None:
        """Look at all worlds; None when it must be done again, because controllers touch more than was known."""
        graph = self.graph
        key, objects, holds, wrongs = self._expander.first()
        graph.add(key, -1, (), 0, objects, holds)
        for wrong in wrongs:
            self._wrong(wrong, 0)
        layers: dict[tuple[int, int], list[int]] = {(0, 0): [0]}
        order = [(0, 0)]
        looked = 0
        while order:
            layer = order[-1] if self._depth_first else order[0]
            if layer[0] > 0 and not self._depth_first and not self._knows_undisturbed:
                self._knows_undisturbed = True
                self._judge_actions(undisturbed=True)
            first = self._undisturbed or (layer[0] == 0 and not self._depth_first)
            for number, found in self._expander.expand(self._next(layers, order, layer), first=first):
                for new in self._consume(number, found):
                    at = self._layer(new)
                    if at not in layers:
                        layers[at] = []
                        order.append(at) if self._depth_first else heapq.heappush(order, at)
                    layers[at].append(new)
                looked += 1
                stopped = self._limits.reached(len(graph), self.verdict.moves, look=looked % _OFTEN == 0)
                if stopped:
                    return stopped
                if self._until_first and self._violations:
                    return "something is violated"
                if self._progress is not None and looked % _OFTEN == 0:
                    self._progress(len(graph), self.verdict.moves)
            if self._expander.was_mistaken():
                return None
        self._judge_actions(undisturbed=self._undisturbed)
        return ""

    def _layer(self, number: int) -> tuple[int, int]:
        return (number, 0) if self._depth_first else (self.graph.costs[number], self.graph.depths[number])

    def _next(
        self, layers: dict[tuple[int, int], list[int]], order: list[tuple[int, int]], layer: tuple[int, int]
    ) -> list[int]:
        """The worlds of a layer: none of them can lead to another one of it."""
        if self._depth_first:
            order.pop()
        else:
            heapq.heappop(order)
        # A world to which a cheaper way was found meanwhile stands in another layer, too, and was looked at there.
        return sorted(number for number in layers.pop(layer) if self._layer(number) == layer)

    def _consume(self, number: int, found: list[Found]) -> Iterable[int]:
        """Take in where a world leads; the worlds that are to be looked at because of it."""
        graph, verdict = self.graph, self.verdict
        cost = graph.costs[number]
        targets, fresh = [], []
        for at, each in enumerate(found):
            if self._undisturbed and each.price:
                continue
            verdict.moves += 1
            spent = cost + each.price
            for many, wrong in each.wrongs:
                self._wrong(wrong, number, each.moves[:many], each.price)
            if each.action >= 0:
                if each.error:
                    self._refused[each.action] = each.error
                else:
                    self._taken.add(each.action)
            elif each.error:
                graph.fails[number] = each.error
            self._wrote = self._wrote or each.wrote
            self._created.update(each.created)
            known = graph.ids.get(each.key)
            if known is None:
                known = graph.add(each.key, number, each.moves, spent, each.objects, each.holds)
                self._expander.keep(known, number, at)
                fresh.append(known)
            elif not self._depth_first and graph.improve(known, number, each.moves, spent):
                self._expander.keep(known, number, at)
                fresh.append(known)
            targets.append(known)
        graph.expand(number, targets)
        if not targets:
            self._settled(number)
        return fresh

    # What must hold

    def _settled(self, number: int) -> None:
        objects = self.graph.objects[number]
        end = self._end_keys.get(objects)
        if end is None:
            state = self._state_of(number)
            end = self._end_keys[objects] = end_key(state)
            if end not in self._ends:
                self._ends[end] = (number, state)
        known = self._ends[end]
        if self.graph.costs[number] < self.graph.costs[known[0]]:
            self._ends[end] = (number, known[1])

    def _judge_ends(self) -> None:
        """Everything that can settle must settle well, and no perturbation may decide how."""
        graph = self.graph
        for each in self.scenario.properties:
            if each.mode == "eventually":
                for number, _ in self._ends.values():
                    if not graph.holds[number][self._places[each.name]]:
                        self._wrong(self._judge.badly_settled(each), number)
        good = self._undisturbed_ends()
        if good:
            for end, (number, _) in self._ends.items():
                if end not in good:
                    self._wrong(self._judge.another_end(), number)

    def _undisturbed_ends(self) -> frozenset[bytes]:
        """What undisturbed runs end in."""
        return frozenset(end for end, (number, _) in self._ends.items() if self.graph.costs[number] == 0)

    def _judge_cycles(self) -> None:
        """Worlds that lead only to each other: a fair run that comes here stays.

        If nothing is written there and nothing fails, controllers only look again from time to time: that is settled.
        Where not all worlds are known, this is about the undisturbed runs alone.
        """
        graph = self.graph
        whatever = "whatever happens" if self.verdict.closed else "as long as nothing disturbs"
        for component in graph.closed_components(undisturbed=not self.verdict.closed):
            if len(component) == 1 and component[0] not in graph.targets(component[0]):
                continue
            number = min(component, key=lambda each: (graph.costs[each], graph.depths[each]))
            is_still = len({graph.objects[each] for each in component}) == 1
            failed = next((graph.fails[each] for each in sorted(component) if each in graph.fails), "")
            if is_still and not failed:
                self._settled(number)
                continue
            for each in self.scenario.properties:
                place = self._places.get(each.name, -1)
                if each.mode == "eventually" and not any(graph.holds[world][place] for world in component):
                    sentence = f"from here {each.name} never holds, {whatever}"
                    self._wrong(Wrong(each.name, sentence), number)
            many = (
                f"{len(component)} worlds lead only to each other" if len(component) > 1 else "nothing else can happen"
            )
            if is_still:
                sentence = f"from here a reconcile fails for ever, and nothing else changes: {failed}"
                self._wrong(Wrong("retried for ever", sentence), number)
            else:
                why = f"; a reconcile fails there: {failed}" if failed else ""
                self._wrong(Wrong("settles", f"from here it never settles, {whatever}: {many}{why}"), number)

    def _judge_actions(self, *, undisturbed: bool) -> None:
        """Refuse a scenario with an action that can never be taken.

        After the ``undisturbed`` runs that is certain only where the object is never made; at the end, everywhere.
        """
        for index in sorted(self._refused.keys() - self._taken):
            action, message = self.scenario.actions[index], self._refused[index]
            if not undisturbed or (message.endswith("not found") and action.key not in self._created):
                raise never_taken(action, message)

    def _judge_untested(self) -> None:
        """What never had a chance to fail."""
        graph, verdict = self.graph, self.verdict
        kinds = set(graph.holds)
        for each in self.scenario.properties:
            if each.mode == "sometimes" and not any(holds[self._places[each.name]] for holds in kinds):
                verdict.untested.append(each.name)
                if verdict.closed:
                    verdict.violations.append(Violation(each.name, "it holds in no world at all", ()))
            elif each.arity == 2 and not self._wrote:
                verdict.untested.append(each.name)

    def _wrong(self, wrong: Wrong, number: int, last: tuple[Move, ...] = (), price: int = 0) -> None:
        """Keep the cheapest violation of each property, and of each line of code that can lose an update."""
        found = _Violated(
            self.graph.costs[number] + price,
            self.graph.depths[number] + len(last),
            wrong.property,
            wrong.sentence,
            number,
            last,
        )
        known = self._violations.get(wrong.property)
        if known is None or found[:2] < known[:2]:
            self._violations[wrong.property] = found
        if wrong.place is not None and wrong.property in _LOSSES:
            known = self._lost.get(wrong.place)
            if known is None or found[:2] < known[:2]:
                self._lost[wrong.place] = found

    def _told(self, found: _Violated) -> Violation:
        return self._story(found.property, found.sentence, (*self.graph.path(found.number), *found.last))

    def _story(self, name: str, sentence: str, choices: tuple[Move, ...]) -> Violation:
        return violation_of(self.engine, name, sentence, choices)

    def _state_of(self, number: int) -> State:
        steps = replay(self.engine, self.graph.path(number))
        return steps[-1].world.state if steps else self.engine.start().state
