"""Counterexamples: the trace of a violation, and one sentence that names the writes that clash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from kontend.cluster.state import Change
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
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
    """The violation of a property along a schedule; ``how`` says how the schedule came to be as short as it is.

    Copies of one process are numbered in the order in which they appear, so that two traces that differ only in
    these numbers are the same. A schedule that was given stays as it is.
    """
    if how != "given":
        schedule, sentence = _renumbered(model, schedule, sentence)
    transitions = replay(model, schedule)
    clash = "" if name in set(BuiltIn) else _clash(transitions)
    return Violation(
        str(name),
        sentence + clash,
        tuple(transition.line for transition in transitions),
        tuple(schedule),
        sum(transition.cost for transition in transitions),
        how,
        token_of(str(name), schedule, model.scenario.bounds),
        plain=sentence if clash else "",
    )


def _renumbered(model: Model, schedule: Sequence[Step], sentence: str) -> tuple[Sequence[Step], str]:
    """A schedule, and a sentence about it, with interchangeable processes in the order of their appearance."""
    layout = model.layout
    used = list(dict.fromkeys(layout.places[step.instance][0] for step in schedule if step.instance >= 0))
    new: dict[int, int] = {}
    names: dict[str, str] = {}
    for copies in layout.keys.copies:
        order = [number for number in used if number in copies]
        order += [number for number in copies if number not in order]
        for number, one in zip(copies, order, strict=True):
            mine, its = layout.processes[one], layout.processes[number]
            new.update(zip(mine.indexes, its.indexes, strict=True))
            names[mine.name] = its.name
    names |= {model.names[one]: model.names[other] for one, other in new.items()}
    if all(one == other for one, other in new.items()):
        return schedule, sentence
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    renamed = re.sub(rf"\b(?:{pattern})(?!\w)", lambda match: names[match[0]], sentence)
    return [step._replace(instance=new.get(step.instance, step.instance)) for step in schedule], renamed


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
