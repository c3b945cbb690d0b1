"""Violations with the same cause, as one.

Two violations have the same cause when the steps at fault are made by the same lines of code, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kontend.report.document import Document, Step


def grouped(documents: Iterable[Document]) -> list[Document]:
    """One document for each cause: the simplest one, which names the properties of the others in ``also``."""
    groups: dict[object, list[Document]] = {}
    for number, document in enumerate(documents):
        groups.setdefault(cause_of(document) or number, []).append(document)
    return [_merged(group) for group in groups.values()]


def cause_of(document: Document) -> tuple[str, ...]:
    """Identify the cause of a violation; empty where no step is at fault."""
    steps = {step.number: step for step in document.steps}
    return tuple(_place(steps[number]) for number in document.violation.culprits)


def _place(step: Step) -> str:
    """Return the line of a step; where it is not known, the controller and its call."""
    if step.line is not None:
        return str(step.line)
    call = f"{step.call.verb} {step.call.kind}" if step.call is not None else step.action
    return f"{step.actor.partition('#')[0]} {call}"


def _merged(group: list[Document]) -> Document:
    first = min(group, key=lambda document: (document.perturbations, len(document.steps)))
    also = dict.fromkeys(
        member.violation.property for member in group if member.violation.property != first.violation.property
    )
    return replace(first, violation=replace(first.violation, also=tuple(also)))
