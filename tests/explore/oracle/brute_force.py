"""Visits every state of a scenario and says what is violated and where everything can come to rest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from explore.oracle.canonical import Canonical
from explore.oracle.final_states import FinalState, specs
from explore.oracle.identifiers import TooMany
from explore.oracle.model import Step, World
from explore.oracle.transitions import Model
from kontend.cluster.cluster import Cluster
from kontend.cluster.state import State
from kontend.explore import Property, Scenario


@dataclass(slots=True)
class Findings:
    """The answer of the oracle."""

    violations: set[str] = field(default_factory=set)
    ends: list[FinalState] = field(default_factory=list)
    unperturbed_ends: list[FinalState] = field(default_factory=list)
    states: int = 0
    steps: int = 0
    #: The most objects that some state has beyond any state that is reached without a perturbation.
    growth: int = 0
    #: True if the whole space was visited.
    exhausted: bool = True
    #: One way to each violation, as text.
    ways: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Edge:
    target: int
    wrote: bool
    failed: bool
    perturbs: bool
    fires: bool
    acts: bool
    hurries: bool


class BruteForce:
    """One visit of all states."""

    def __init__(self, scenario: Scenario, *, limit: int = 30_000) -> None:
        self.scenario = scenario
        self.limit = limit
        self.model = Model(scenario)
        self.canonical = Canonical(self.model)
        self.findings = Findings()
        self._worlds: list[World] = []
        self._edges: list[list[_Edge]] = []
        self._from: list[tuple[int, str]] = []
        self._numbers: dict[bytes, int] = {}
        self._held: set[str] = set()
        #: For each state in which everything has settled, its final form.
        self._settled: dict[int, str] = {}

    def run(self) -> Findings:
        """Visit all states, then look at the graph."""
        findings = self.findings
        waiting = deque([self._number(self.model.initial, (-1, ""))])
        self._ask(self.model.initial.state, 0, "")
        try:
            while waiting:
                number = waiting.popleft()
                for step in self.model.steps(self._worlds[number]):
                    findings.steps += 1
                    known = len(self._worlds)
                    target = self._number(step.world, (number, step.text))
                    if target == known:
                        waiting.append(target)
                    self._judge(step, number)
                    if not step.optional:
                        edge = _Edge(
                            target, step.wrote, step.failed, step.perturbs, step.fires, step.acts, step.hurries
                        )
                        self._edges[number].append(edge)
                if len(self._worlds) > self.limit:
                    raise TooMany
        except TooMany:
            findings.exhausted = False
        findings.states = len(self._worlds)
        if findings.exhausted:
            self._conclude()
        return findings

    def _number(self, world: World, came: tuple[int, str]) -> int:
        digest = self.canonical.digest(world)
        number = self._numbers.setdefault(digest, len(self._worlds))
        if number == len(self._worlds):
            self._worlds.append(world)
            self._edges.append([])
            self._from.append(came)
        return number

    # Properties of states and of writes

    def _judge(self, step: Step, source: int) -> None:
        for name in step.wrong:
            self._violated(name, source, step.text)
        for before, after in step.writes:
            for prop in self.scenario.properties:
                if prop.arity == 2 and _holds(prop, before, after) != (prop.mode == "always"):
                    self._violated(prop.name, source, step.text)
            self._ask(after, source, step.text)

    def _ask(self, state: State, source: int, text: str) -> None:
        for prop in self.scenario.properties:
            if prop.arity == 1 and prop.mode != "eventually":
                holds = _holds(prop, state)
                if prop.mode == "sometimes":
                    if holds:
                        self._held.add(prop.name)
                elif holds != (prop.mode == "always"):
                    self._violated(prop.name, source, text)

    def _violated(self, name: str, source: int, text: str) -> None:
        if name not in self.findings.violations:
            self.findings.violations.add(name)
            self.findings.ways[name] = [*self.way(source), text]

    def way(self, number: int) -> list[str]:
        """The steps by which a state was first reached."""
        texts: list[str] = []
        while number > 0:
            number, text = self._from[number]
            texts.append(text)
        return texts[::-1]

    # Properties of runs

    def _conclude(self) -> None:
        found = self.findings
        for prop in self.scenario.properties:
            if prop.mode == "sometimes" and prop.name not in self._held:
                found.violations.add(prop.name)
        unperturbed = self._unperturbed()
        sizes = [sum(len(objects) for objects in world.state.kinds.values()) for world in self._worlds]
        found.growth = max(sizes) - max(sizes[number] for number in unperturbed)
        ends: dict[str, tuple[FinalState, int]] = {}
        calm: dict[str, FinalState] = {}
        for component in bottom_components([[edge.target for edge in edges] for edges in self._edges]):
            edges = [edge for number in component for edge in self._edges[number]]
            wrote, failed = (any(getattr(edge, name) for edge in edges) for name in ("wrote", "failed"))
            first = min(component)
            settled: list[set[int]] = []
            if not wrote and not failed:
                settled = [component]
            elif not failed and not self._writes_by_itself(component):
                settled = [{number} for number in component if all(edge.fires for edge in self._edges[number])]
            elif wrote:
                self._violated("never settles", first, "")
            else:
                self._violated("fails forever", first, "")
            for numbers in settled:
                one = min(numbers)
                end = FinalState.of(self._worlds[one].state, self._worlds[one].suffixes)
                ends.setdefault(end.text, (end, one))
                self._settled.update(dict.fromkeys(numbers, end.text))
                if self._leaks(self._worlds[one].state):
                    self._violated("leak", one, "")
                if unperturbed & numbers:
                    calm.setdefault(end.text, end)
            for prop in self.scenario.properties:
                for numbers in settled or [component]:
                    if prop.mode == "eventually" and not any(
                        _holds(prop, self._worlds[number].state) for number in numbers
                    ):
                        self._violated(prop.name, min(numbers), "")
        found.ends = [end for end, _ in ends.values()]
        found.unperturbed_ends = list(calm.values())
        harmless = self._harmless({text: number for text, (_, number) in ends.items()}, set(calm))
        for text, (_, first) in ends.items():
            if not calm or text in calm or text in harmless:
                continue
            # The texts of two states differ where objects could change places: only a comparison tells.
            if not any(end.matches(self._worlds[first].state) for end in calm.values()):
                self._violated("diverged", first, "")
        self._judge_waiting()

    def _judge_waiting(self) -> None:
        """Nobody need act: without the user's next action, too, writes must come to an end."""
        targets = [[edge.target for edge in edges if not edge.acts] for edges in self._edges]
        for component in bottom_components(targets):
            waits = any(edge.acts for number in component for edge in self._edges[number])
            if waits and self._writes_by_itself(component):
                self._violated("never settles", min(component), "")

    def _harmless(self, ends: dict[str, int], calm: set[str]) -> set[str]:
        """The final states of a user in a hurry that differ from a calm one in no spec of an object of both."""
        reached = self._unperturbed(hurried=True)
        final = {number: text for number, text in self._settled.items() if number in reached}
        known: dict[str, dict[str, str]] = {}
        for text in {*final.values(), *calm}:
            world = self._worlds[ends[text]]
            known[text] = specs(world.state, world.suffixes)
        return {
            text
            for text in set(final.values()) - calm
            if any(all(known[other].get(name, spec) == spec for name, spec in known[text].items()) for other in calm)
        }

    def _leaks(self, state: State) -> bool:
        """An object waits for the end of its deletion, because of a finalizer that a controller has added."""
        outside = {"foregroundDeletion", "orphan"}
        for version in (obj for objects in self.model.initial.state.kinds.values() for obj in objects.values()):
            outside |= set(version.content()["metadata"].get("finalizers") or ())
        metadata = [obj.content()["metadata"] for objects in state.kinds.values() for obj in objects.values()]
        return any(meta.get("deletionTimestamp") and set(meta.get("finalizers") or ()) - outside for meta in metadata)

    def _writes_by_itself(self, component: set[int]) -> bool:
        """A cycle among some states has a write and no timer that fires."""
        order = sorted(component)
        place = {number: at for at, number in enumerate(order)}
        targets = [
            [place[edge.target] for edge in self._edges[number] if not edge.fires and not edge.acts] for number in order
        ]
        circles = components(targets)
        return any(
            edge.wrote and not edge.fires and not edge.acts and edge.target in {order[at] for at in circle}
            for circle in circles
            for number in (order[at] for at in circle)
            for edge in self._edges[number]
        )

    def _unperturbed(self, *, hurried: bool = False) -> set[int]:
        """The states that are reached without any disturbance, or with none but a user in a hurry."""
        seen, waiting = {0}, [0]
        while waiting:
            for edge in self._edges[waiting.pop()]:
                if (not edge.perturbs or (hurried and edge.hurries)) and edge.target not in seen:
                    seen.add(edge.target)
                    waiting.append(edge.target)
        return seen


def _holds(prop: Property, *states: State) -> bool:
    return bool(prop.question(*(Cluster(state=state) for state in states)))


def bottom_components(targets: list[list[int]]) -> list[set[int]]:
    """The strongly connected components that no edge leaves."""
    found = components(targets)
    return [
        component for component in found if all(target in component for node in component for target in targets[node])
    ]


def components(targets: list[list[int]]) -> list[set[int]]:
    """The strongly connected components (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for root in range(len(targets)):
        if root in index:
            continue
        work = [(root, iter(targets[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            advanced = False
            for target in following:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(targets[target])))
                    advanced = True
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                component: set[int] = set()
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.add(member)
                    if member == node:
                        break
                found.append(component)
    return found
