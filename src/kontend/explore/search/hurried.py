"""Runs in which a user acts again before the controllers have settled, and which of their final states do no harm.

Controllers may never see the state between two actions that follow each other closely. What they leave behind may
differ all the same: a record of what they have done, an object that was needed for a while. So a final state of such a
run counts as diverged only if it has an object that a run with patient users has, too, with another spec. The spec of
an object is all of it but metadata and status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from kontend.cluster.state import State
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import generated_names
from kontend.explore.model.state.ignored import Ignored
from kontend.explore.model.state.world import World
from kontend.explore.program.masking import masked
from kontend.explore.reduction.macro_step import MacroStep
from kontend.explore.reduction.macro_steps import MacroSteps


class HurriedSteps:
    """The macro-steps of a state that are no perturbations, if users who do not wait count as unperturbed."""

    def __init__(self, model: Model) -> None:
        self._macros = MacroSteps(model)

    def of(self, world: World) -> list[MacroStep]:
        """All macro-steps that cost nothing, and actions between two reconciles."""
        macros = []
        for macro in self._macros.of(world):
            if world.is_resting and [step.action for step in macro.steps] == ["act"]:
                macro.cost = 0
            if not macro.cost:
                macros.append(macro)
        return macros


def harmless(final_states: Mapping[bytes, State], settled: Iterable[State], ignored: Ignored) -> frozenset[bytes]:
    """Of some final states by canonical form, those that differ from a settled one in no spec of a common object."""
    patient = [_specs(state, ignored) for state in settled] if final_states else []
    return frozenset(
        form
        for form, state in final_states.items()
        if any(_agree(_specs(state, ignored), expected) for expected in patient)
    )


def _specs(state: State, ignored: Ignored) -> dict[tuple[str, str, str], bytes]:
    """The specs of all objects with names of their own: one that was made up may stand for another one elsewhere."""
    specs = {}
    generated = generated_names(state)
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            name = key.name.encode()
            if name in generated or masked(name) != name:
                continue
            content = {
                name: value
                for name, value in orjson.loads(ignored.without(version.body)).items()
                if name not in ("metadata", "status")
            }
            specs[resource, key[0], key[1]] = masked(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    return specs


def _agree(one: Mapping[tuple[str, str, str], bytes], other: Mapping[tuple[str, str, str], bytes]) -> bool:
    return all(other.get(key, spec) == spec for key, spec in one.items())
