"""The effects of a scenario that a fix must keep: its good final states, and who writes.

A fix that makes a controller do nothing violates nothing. So the final states of unperturbed runs have to stay
reachable, and every controller that wrote in an unperturbed run still writes.

Objects that were made in a run are compared without their names: a name that was made up before may be derived from its
owner now. What refers to such an object refers to it by its kind then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.state import State
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import UNPERTURBED, Step, Transition
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.verdict import Verdict

#: Steps of the unperturbed run that is followed to see who writes.
_STEPS: Final = 300
#: Metadata of the server, or about ownership by uid; finalizers, because a fix may add one.
_DROPPED: Final = frozenset(
    {"creationTimestamp", "finalizers", "generateName", "generation", "managedFields", "name", "resourceVersion", "uid"}
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STAMPS: Final = frozenset({"observedGeneration", "resourceVersion"})


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of the runs of a scenario."""

    #: Outlines of the final states: of unperturbed runs, and of all runs.
    baseline: frozenset[bytes]
    finals: frozenset[bytes]
    #: The controllers that write in an unperturbed run, each with the kinds.
    writers: frozenset[str]

    def lost(self, later: Effects, *, compare_finals: bool) -> str:
        """Name what is lost after a change; empty where nothing is."""
        silent = sorted(self.writers - later.writers)
        if silent:
            return f"{' and '.join(silent)} would not write any more"
        if compare_finals and not self.baseline <= later.finals:
            return "a final state of an unperturbed run would not be reached any more"
        return ""


def effects_of(scenario: Scenario, verdict: Verdict) -> Effects:
    """Return the effects of a scenario that was explored."""
    initial, writers = restarted(scenario, _unperturbed)
    outlines = [_outline(state, initial) for state in verdict.final_states]
    reached = [reached.unperturbed for reached in verdict.reached]
    baseline = frozenset(outline for outline, is_good in zip(outlines, reached, strict=False) if is_good)
    return Effects(baseline, frozenset(outlines), writers)


def _unperturbed(model: Model) -> tuple[State, frozenset[str]]:
    """Return the initial state, and the controllers that write in one unperturbed run."""
    world = first = model.initial()
    writers: set[str] = set()
    rank = {action: at for at, action in enumerate(UNPERTURBED)}
    for _ in range(_STEPS):
        taken = _next(model, world, rank)
        if taken is None or model.is_stuck(world):
            break
        step, transition = taken
        if transition.changes and 0 <= step.instance < len(model.programs):
            writers.add(model.programs[step.instance].controller.name)
        world = transition.world
    return first.state, frozenset(writers)


def _next(model: Model, world: World, rank: Mapping[str, int]) -> tuple[Step, Transition] | None:
    """Return the next step of an unperturbed run; None at its end."""
    steps = [step for step in model.steps(world) if step.action in rank]
    for step in sorted(steps, key=lambda step: rank[step.action]):
        transition = model.next(world, step)
        if not transition.cost:
            return step, transition
    return None


def _outline(state: State, initial: State) -> bytes:
    """Return a final state without made-up names and stamps."""
    objects: list[tuple[str, str, str, Mapping[str, Any]]] = []
    made: dict[str, str] = {}
    for resource in sorted(state.kinds):
        for key, version in sorted(state.objects(resource).items()):
            is_given = initial.find(resource, key) is not None
            objects.append((resource, key.namespace, key.name if is_given else "", version.content()))
            if not is_given:
                made[key.name] = f"<{resource}>"
    forms = [
        orjson.dumps([resource, namespace, name, _cleaned(content, made, top=True)], option=orjson.OPT_SORT_KEYS)
        for resource, namespace, name, content in objects
    ]
    return b"\n".join(sorted(forms))


def _cleaned(value: Any, made: Mapping[str, str], *, top: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _metadata(child, made) if top and name == "metadata" else _cleaned(child, made)
            for name, child in value.items()
            if name not in _STAMPS
        }
    if isinstance(value, list):
        return [_cleaned(child, made) for child in value]
    if isinstance(value, str):
        return made.get(value) or _UUID.sub("<uid>", value)
    return value


def _metadata(metadata: Any, made: Mapping[str, str]) -> Any:
    return {name: _cleaned(value, made) for name, value in metadata.items() if name not in _DROPPED}
