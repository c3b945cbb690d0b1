"""Schedules as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kontend.explore.model.step import Step
from kontend.kube.meta.names import Key


def dump_schedule(schedule: Iterable[Step]) -> list[Any]:
    """A schedule as JSON.

    >>> dump_schedule([Step("start", 0, Key("default", "w")), Step("call", 0, Key("default", "w"), 1), Step("act")])
    [['start', 0, ['default', 'w'], 0], ['call', 0, ['default', 'w'], 1], ['act', -1, None, 0]]
    """
    return [
        [step.action, step.instance, list(step.subject) if isinstance(step.subject, Key) else step.subject, step.at]
        for step in schedule
    ]


def load_schedule(document: Iterable[Any]) -> tuple[Step, ...]:
    """A schedule from JSON. Raises ``TypeError`` or ``ValueError`` for anything that is none."""
    return tuple(
        Step(action, instance, Key(*subject) if isinstance(subject, list) else subject, at)
        for action, instance, subject, at in document
    )
