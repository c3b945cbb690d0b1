"""Counterexamples: the trace of a violation, and one sentence that names the writes that clash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kontend.cluster.state import Change
from kontend.explore.model.model import Model, replay
from kontend.explore.model.step import Step, Transition
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.trace.token import token_of
from kontend.explore.verdict import Violation
from kontend.kube.meta.names import Key


def counterexample(
    model: Model,
    name: str,
    sentence: str,
    schedule: Sequence[Step],
    *,
    how: Literal["shortest", "shrunk", "given"] = "shortest",
) -> Violation:
    """The violation of a property along a schedule; ``how`` says how the schedule came to be as short as it is."""
    transitions = replay(model, schedule)
    return Violation(
        str(name),
        sentence if name in set(BuiltIn) else sentence + _clash(transitions),
        tuple(transition.line for transition in transitions),
        tuple(schedule),
        sum(transition.cost for transition in transitions),
        how,
        token_of(str(name), schedule, model.scenario.bounds),
    )


def _clash(transitions: Sequence[Transition]) -> str:
    """Names the earlier write that the last one overwrote."""
    if not transitions or not transitions[-1].changes:
        return ""
    written = {_object(change) for change in transitions[-1].changes}
    for number in range(len(transitions) - 1, 0, -1):
        if written & {_object(change) for change in transitions[number - 1].changes}:
            return f" (step {len(transitions)}), after {transitions[number - 1].text} (step {number})"
    return ""


def _object(change: Change) -> tuple[str, Key]:
    return change.resource, change.key
