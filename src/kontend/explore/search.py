"""The search: every world within the bounds, the least disturbed first.

Worlds are visited in the order of how many perturbations led to them (a step taken on a stale cache, a reconcile
interrupted by another, a user acting in the middle), then of how many moves, so that the first counterexample is the
simplest one. When all worlds are known, what never settles shows as a set of worlds without a way out.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.state import State
from kontend.explore.engine import Engine, Move, Step
from kontend.explore.lost_updates import lost_update
from kontend.explore.outcome import Place
from kontend.explore.scenario import BadScenario, Property, Scenario
from kontend.explore.uuids import end_key
from kontend.explore.verdict import Verdict, Violation
from kontend.explore.world import World

#: After how many worlds progress is told.
_OFTEN: Final = 500


@dataclass(slots=True)
class _Entry:
    """What is kept of a world that was found."""

    parent: int
    move: Move | None
    cost: int
    depth: int
    #: What stands for the objects in it.
    objects: int
    #: How a reconcile fails in a move from here.
    fails: str = ""


class Search:
    """One search of one scenario."""

    def __init__(
        self, scenario: Scenario, *, until_first: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Search ``scenario``; ``progress`` is told the numbers of worlds and moves from time to time."""
        self.scenario = scenario
        self._progress = progress
        self.engine = Engine(scenario)
        self._until_first = until_first
        self._entries: list[_Entry] = []
        self._ids: dict[bytes, int] = {}
        self._edges: list[list[int]] = []
        self._holds: dict[str, list[bool]] = {}
        self._violations: dict[str, Violation] = {}
        self._seen: set[str] = set()
        self._answers: dict[tuple[object, ...], bool] = {}
        self._ends: dict[bytes, tuple[int, State]] = {}
        #: What stands for an end state, by what stands for its objects.
        self._end_keys: dict[int, bytes] = {}
        #: The shortest story for each line of code that can lose an update.
        self.lost: dict[Place, Violation] = {}
        bounds = scenario.bounds
        self.verdict = Verdict(
            bounds=f"lag ≤ {bounds.lag}, concurrent ≤ {bounds.concurrent}{', atomic' * bounds.atomic}"
        )

    def run(self) -> Verdict:
        """Search until the space is closed, a limit is reached, or (``until_first``) something is violated."""
        begun = time.perf_counter()
        verdict = self.verdict
        try:
            verdict.closed = self._explore()
        except KeyboardInterrupt:
            verdict.closed = False
        if verdict.closed:
            self._judge_cycles()
        self._judge_ends()
        verdict.violations = list(self._violations.values())
        verdict.untested = [
            each.name for each in self.scenario.properties if each.mode == "sometimes" and each.name not in self._seen
        ]
        for name in verdict.untested if verdict.closed else ():
            verdict.violations.append(Violation(name, "it holds in no world at all", ()))
        verdict.end_states = [state for _, state in self._ends.values()]
        verdict.worlds = len(self._entries)
        verdict.runs = sum(behaviour.runs for behaviour in set(self.engine.behaviours))
        verdict.seconds = time.perf_counter() - begun
        return verdict

    def along(self, choices: Sequence[Move]) -> dict[str, Violation]:
        """What is violated on one way from the start."""
        world = self.engine.start()
        number = self._add(self.engine.key(world), _Entry(-1, None, 0, 0, world.objects))
        self._check_world(number, world)
        for depth, move in enumerate(choices, 1):
            step = self.engine.make(world, move)
            for before, part in step.calls or ((world, step),):
                if part.changes:
                    self._check_write(number, move, before, part)
            world = step.world
            # Not by its key: a way may come back to where it was.
            number = self._add(b"%d" % depth, _Entry(number, move, 0, depth, world.objects))
            self._check_world(number, world)
        if not self.engine.moves(world):
            self._settled(number, world.state)
            self._judge_ends()
        return self._violations

    def _explore(self) -> bool:
        engine, bounds, verdict = self.engine, self.scenario.bounds, self.verdict
        first = engine.start()
        self._add(engine.key(first), _Entry(-1, None, 0, 0, first.objects))
        self._check_world(0, first)
        heap: list[tuple[int, int, int, World, int]] = [(0, 0, 0, first, -1)]
        expanded = 0
        while heap:
            cost, depth, number, world, actor = heapq.heappop(heap)
            if cost > self._entries[number].cost:
                continue
            moves = engine.moves(world)
            if not moves:
                self._settled(number, world.state)
                continue
            for move in moves:
                step = engine.make(world, move)
                verdict.moves += 1
                for before, part in step.calls or ((world, step),):
                    if part.changes:
                        self._check_write(number, move, before, part)
                if step.error:
                    self._entries[number].fails = step.error
                spent = cost + self._price(world, move, actor)
                key = engine.key(step.world)
                known = self._ids.get(key)
                entry = _Entry(number, move, spent, depth + 1, step.world.objects)
                if known is None:
                    known = self._add(key, entry)
                    self._check_world(known, step.world)
                    heapq.heappush(heap, (spent, depth + 1, known, step.world, move.pilot))
                elif spent < self._entries[known].cost:
                    self._entries[known] = entry
                    heapq.heappush(heap, (spent, depth + 1, known, step.world, move.pilot))
                self._edges[number].append(known)
                if (self._until_first and self._violations) or len(self._entries) > bounds.worlds:
                    return False
            if verdict.moves > bounds.moves:
                return False
            expanded += 1
            if self._progress is not None and expanded % _OFTEN == 0:
                self._progress(len(self._entries), verdict.moves)
        return True

    def _add(self, key: bytes, entry: _Entry) -> int:
        number = len(self._entries)
        self._ids[key] = number
        self._entries.append(entry)
        self._edges.append([])
        return number

    def _price(self, world: World, move: Move, actor: int) -> int:
        """How much a move disturbs: 0 for what an undisturbed run would do."""
        if move.what in ("deliver", "retry"):
            return 0
        if move.what == "act":
            return int(any(pilot.flight is not None or pilot.queue for pilot in world.pilots))
        pilot = world.pilots[move.pilot]
        stale = any(
            world.undelivered(pilot, at, resource) for at, resource in enumerate(self.engine.resources[move.pilot])
        )
        interrupts = actor not in (-1, move.pilot) and world.pilots[actor].flight is not None
        return int(stale) + int(interrupts)

    # What must hold

    def _check_world(self, number: int, world: World) -> None:
        for each in self.scenario.properties:
            if each.arity != 1:
                continue
            holds = self._ask(each, world)
            if each.mode in ("eventually",):
                self._holds.setdefault(each.name, []).append(holds)
            elif each.mode == "sometimes":
                if holds:
                    self._seen.add(each.name)
            elif number == 0 and holds != (each.mode == "always"):
                self._violate(each.name, f"{each.name} is broken at the start", number)

    def _check_write(self, number: int, move: Move, world: World, step: Step) -> None:
        if step.flight is not None:
            for change in step.changes:
                path = lost_update(world.state, step.flight, change)
                if path:
                    who = self.engine.names[move.pilot]
                    sentence = (
                        f"{who} wrote {path} of {change.key} over a change made since it had read the object, "
                        "and nobody was told"
                    )
                    self._violate("lost update", sentence, number, move)
                    place = step.flight.node.place
                    if place not in self.lost:
                        choices = [*self._path(number), move]
                        self.lost[place] = Violation(
                            "lost update", sentence, tuple(self._story(choices)), tuple(choices)
                        )
        for each in self.scenario.properties:
            if each.mode in ("always", "never"):
                worlds = (world, step.world) if each.arity == 2 else (step.world,)
                if self._ask(each, *worlds) != (each.mode == "always"):
                    self._violate(each.name, f"{each.name} is broken by: {step.text}", number, move)

    def _ask(self, each: Property, *worlds: World) -> bool:
        """Whether a property holds; worlds with the same objects have the same answer."""
        question = (each.name, *(world.objects for world in worlds))
        found = self._answers.get(question)
        if found is None:
            try:
                found = bool(each.predicate(*(Cluster(state=world.state) for world in worlds)))
            except Exception as error:
                raise BadScenario(f"{each.mode}({each.name}) raised {type(error).__name__}: {error}") from error
            self._answers[question] = found
        return found

    def _settled(self, number: int, state: State) -> None:
        objects = self._entries[number].objects
        end = self._end_keys.get(objects)
        if end is None:
            end = self._end_keys[objects] = end_key(state)
        known = self._ends.get(end)
        if known is None or self._entries[number].cost < self._entries[known[0]].cost:
            self._ends[end] = (number, state)

    def _judge_ends(self) -> None:
        """Everything that can settle must settle well, and no perturbation may decide how."""
        for each in self.scenario.properties:
            if each.mode == "eventually":
                for number, _ in self._ends.values():
                    if not self._holds[each.name][number]:
                        self._violate(each.name, f"everything has settled, and {each.name} does not hold", number)
        costs = sorted(self._entries[number].cost for number, _ in self._ends.values())
        if costs and costs[0] == 0:
            for number, _ in self._ends.values():
                if self._entries[number].cost > 0:
                    sentence = "everything settles in a state that no undisturbed run ends in"
                    self._violate("same end", sentence, number)

    def _judge_cycles(self) -> None:
        """Worlds that lead only to each other: a fair run that comes here stays.

        If nothing is written there and nothing fails, controllers only look again from time to time: that is settled.
        """
        for component in _ends_of(self._edges):
            if len(component) == 1 and not self._edges[component[0]]:
                continue
            number = min(component, key=lambda each: (self._entries[each].cost, self._entries[each].depth))
            entries = [self._entries[each] for each in component]
            if len({entry.objects for entry in entries}) == 1 and not any(entry.fails for entry in entries):
                self._settled(number, self._state_of(number))
                continue
            wrong = [
                each.name
                for each in self.scenario.properties
                if each.mode == "eventually" and not any(self._holds[each.name][world] for world in component)
            ]
            for name in wrong:
                self._violate(name, f"from here {name} never holds, whatever happens", number)
            failed = next((entry.fails for entry in entries if entry.fails), "")
            why = f"; a reconcile fails there: {failed}" if failed else ""
            sentence = f"from here it never settles: {len(component)} worlds lead only to each other{why}"
            self._violate("settles", sentence, number)

    def _violate(self, name: str, sentence: str, number: int, last: Move | None = None) -> None:
        found = self._violations.get(name)
        if found is not None and len(found.choices) <= self._entries[number].depth + (last is not None):
            return
        choices = self._path(number) + ([last] if last is not None else [])
        self._violations[name] = Violation(name, sentence, tuple(self._story(choices)), tuple(choices))

    def _path(self, number: int) -> list[Move]:
        moves: list[Move] = []
        while number >= 0:
            entry = self._entries[number]
            if entry.move is not None:
                moves.append(entry.move)
            number = entry.parent
        moves.reverse()
        return moves

    def _state_of(self, number: int) -> State:
        steps = replay(self.engine, self._path(number))
        return steps[-1].world.state if steps else self.engine.start().state

    def _story(self, choices: list[Move]) -> list[str]:
        return [step.text for step in replay(self.engine, choices)]


def replay(engine: Engine, choices: list[Move] | tuple[Move, ...]) -> list[Step]:
    """Make some moves from the start again."""
    world = engine.start()
    steps = []
    for move in choices:
        if move not in engine.moves(world):
            raise BadScenario(f"the move {move} is not possible here: the scenario or its controllers have changed")
        step = engine.make(world, move)
        steps.append(step)
        world = step.world
    return steps


def _ends_of(edges: list[list[int]]) -> list[list[int]]:
    """The strongly connected components without an edge out (Tarjan, without recursion)."""
    index = [0] * len(edges)
    low = [0] * len(edges)
    on_stack = bytearray(len(edges))
    component_of = [-1] * len(edges)
    components: list[list[int]] = []
    stack: list[int] = []
    count = 0
    for root in range(len(edges)):
        if index[root]:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                count += 1
                index[node] = low[node] = count
                stack.append(node)
                on_stack[node] = 1
            pushed = False
            for position in range(at, len(edges[node])):
                other = edges[node][position]
                if not index[other]:
                    work += [(node, position + 1), (other, 0)]
                    pushed = True
                    break
                if on_stack[other]:
                    low[node] = min(low[node], index[other])
            if pushed:
                continue
            if low[node] == index[node]:
                members = []
                while True:
                    other = stack.pop()
                    on_stack[other] = 0
                    component_of[other] = len(components)
                    members.append(other)
                    if other == node:
                        break
                components.append(members)
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[node])
    return [
        members
        for number, members in enumerate(components)
        if all(component_of[other] == number for node in members for other in edges[node])
    ]


def check(
    scenario: Scenario, *, until_first: bool = False, progress: Callable[[int, int], None] | None = None
) -> Verdict:
    """Explore a scenario and say what holds."""
    return Search(scenario, until_first=until_first, progress=progress).run()
