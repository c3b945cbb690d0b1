"""Components that tell states apart in vain, and steps that are explored in both orders without need.

    python -m benchmarks.distinctions FILE SCENARIO [STATES]

The first table has the components of a state. For each it says how many states fewer there would be if it did not count
and only states were joined from which the same final states can be reached: a bound on what a reduction of that
component can save. The second table has pairs of steps of different actors that lead to the same state in both orders,
counted in a sample of states.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kontend.explore import Reductions
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.world import World
from kontend.explore.reduction.macro_step import MacroStep
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.expander import Expander
from kontend.explore.search.successor import Successor

_STATES: Final = 5_000
#: States whose pairs of steps are tried.
_SAMPLE: Final = 60
_LINES: Final = 14

#: The components of a state, by name.
_Components = dict[str, object]


class _Watched(Expander):
    """An expander that notes the components of states and where their steps lead."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.components: dict[bytes, _Components] = {}
        self.leads_to: dict[bytes, list[bytes]] = {}
        self.forms: dict[bytes, bytes] = {}
        self.sample: list[World] = []

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states."""
        del ahead
        for number in numbers:
            world = self.frontier.take([number])[number]
            successors, self.last = self._successors.of(world)
            key = self.model.key(world)
            self.components[key] = components(self.model, world)
            self.leads_to[key] = [self.model.key(macro.world) for macro in self.last]
            if all(macro.steps[-1].action in OPTIONAL for macro in self.last):
                self.forms[key] = final_form(world, self.model.ignored)
            if len(self.components) % (_STATES // _SAMPLE) == 0:
                self.sample.append(world)
            yield number, successors


def components(model: Model, world: World) -> _Components:
    """The parts of a state's key."""
    state, keys, digest = world.state, model.mechanics.keys, model.mechanics.keys.digest
    found: _Components = {
        "cluster": world.objects,
        "actions of users": world.acted,
        "identities": world.issued_sum,
        "faults that are left": tuple(world.budget),
        "changes that a restart could miss": model.mechanics.faults.reserve(world).recent,
    }
    for number, (process, layout) in enumerate(zip(world.processes, model.layout.processes, strict=True)):
        for at, resource in enumerate(layout.resources[: len(process.views)]):
            found[f"{layout.name}: events of {layout.kinds[at]}"] = tuple(
                (change.key, change.old and digest(change.old), change.new and digest(change.new))
                for change in process.undelivered(state, at, resource)
            )
        found[f"{layout.name}: own writes"] = tuple(keys.own_write(state, number, process, one) for one in process.own)
        for index, instance in zip(layout.indexes, process.instances, strict=True):
            name, running = model.names[index], instance.running
            found[f"{name}: queue"] = instance.queue
            found[f"{name}: delayed"] = instance.delayed
            found[f"{name}: timers, memory"] = (instance.timers, instance.memory)
            found[f"{name}: pending calls"] = tuple(one.node.text for one in running)
            found[f"{name}: run so far"] = tuple(one.node.id for one in running)
            found[f"{name}: versions"] = tuple(
                keys.which_version(state, number, process, met) for one in running for met in one.versions
            )
    return found


def reachable(watched: _Watched) -> dict[bytes, frozenset[bytes]]:
    """The final states that can be reached from each state, as far as it was explored."""
    comes_from: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for key, targets in watched.leads_to.items():
        for target in targets:
            comes_from[target].append(key)
    found: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for key, form in watched.forms.items():
        pending = [key]
        while pending:
            one = pending.pop()
            if form not in found[one]:
                found[one].add(form)
                pending += comes_from[one]
    return {key: frozenset(found[key]) for key in watched.components}


def saved(watched: _Watched) -> list[tuple[int, str]]:
    """For each component how many states fewer there would be without it, most first."""
    ends = reachable(watched)
    names = {name for parts in watched.components.values() for name in parts}
    count = len(watched.components)
    return sorted(
        (
            (
                count
                - len(
                    {
                        (
                            ends[key],
                            *(hash(part) for name, part in parts.items() if name not in (dropped, _also(dropped))),
                        )
                        for key, parts in watched.components.items()
                    }
                ),
                dropped,
            )
            for dropped in names
        ),
        reverse=True,
    )


def _also(dropped: str) -> str:
    """The component that follows from another one, and is dropped with it."""
    return dropped.replace(": run so far", ": versions") if dropped.endswith(": run so far") else dropped


def commuting(model: Model, worlds: Sequence[World]) -> tuple[Counter[str], int]:
    """Pairs of steps of different actors that lead to the same state in both orders; and the number of all pairs."""
    steps = MacroSteps(model)
    found: Counter[str] = Counter()
    count = 0
    for world in worlds:
        macros = [macro for macro in steps.of(world) if macro.steps[-1].action not in OPTIONAL]
        for at, one in enumerate(macros):
            for other in macros[at + 1 :]:
                if _actor(model, one) == _actor(model, other):
                    continue
                count += 1
                both = [_then(model, steps, first, second) for first, second in ((one, other), (other, one))]
                if both[0] is not None and both[0] == both[1]:
                    found[" | ".join(sorted((_label(model, world, one), _label(model, world, other))))] += 1
    return found, count


def _then(model: Model, steps: MacroSteps, first: MacroStep, second: MacroStep) -> bytes | None:
    return next((model.key(each.world) for each in steps.of(first.world) if each.steps == second.steps), None)


def _actor(model: Model, macro: MacroStep) -> int:
    instance = macro.steps[-1].instance
    return model.layout.places[instance][0] if instance >= 0 and macro.steps[-1].action != "act" else -1


def _label(model: Model, world: World, macro: MacroStep) -> str:
    last = macro.steps[-1]
    if last.action == "act":
        return "user acts"
    name = model.names[last.instance].partition("#")[0]
    running = world.instances[last.instance].running
    if last.action == "call" and running and len(macro.steps) == 1:
        call = running[0].node.calls[last.at]
        return f"{name} {call.verb} {call.kind.partition('.')[0]}{'/' * bool(call.subresource)}{call.subresource}"
    return f"{name} reads its views"


def main(file: str, name: str, states: int = _STATES) -> None:
    """Print both tables for one scenario."""
    scenario = scenarios_in(file)[name]
    scenario = replace(
        scenario,
        bounds=replace(scenario.bounds, states=states),
        reductions=Reductions(factored=False, parts=False, symmetry=False),
    )
    model = Model(scenario)
    watched = _Watched(model)
    verdict = BreadthFirst(model, expander=watched).run()
    count = len(watched.components)
    print(f"{name}: {verdict.states:,} states, {count:,} expanded, {scenario.bounds}")
    print("states fewer without ...")
    for fewer, component in saved(watched)[:_LINES]:
        print(f"  {fewer:6,}  {100 * fewer // max(count, 1):3}%  {component}")
    pairs, total = commuting(model, watched.sample)
    print(f"pairs of steps that commute: {pairs.total():,} of {total:,} in {len(watched.sample)} states")
    for pair, times in pairs.most_common(_LINES):
        print(f"  {times:6,}  {pair}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))
