"""Guards that would have locked a write: the same schedule is followed once more with the guard on.

Guards do not apply to every write: a patch that was given whole stays as it is, and so does one that says
``lock=False``. Only the call that the code then makes tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario
from kontend.explore.restarts import restarted
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import SourceLocation


def is_locked(call: Call) -> bool:
    """A write that carries a resourceVersion, or a delete with preconditions."""
    try:
        body: Any = orjson.loads(call.body or b"{}")
    except orjson.JSONDecodeError:  # a patch of another format
        return False
    if isinstance(body, list):
        return any(operation.get("path") == "/metadata/resourceVersion" for operation in body)
    return bool((body.get("metadata") or {}).get("resourceVersion") or body.get("preconditions"))


def locks(trail: Trail, taken: Taken, part: Part, guard: str) -> bool | None:
    """A guard that is off in the scenario locks the calls of the line that made a call of a step.

    None where that is not known: the run with the guard does not reach the step.
    """
    scenario = trail.scenario
    if part.line is None:
        return None
    if getattr(scenario.guards, guard):
        return False
    schedule = [earlier.step for earlier in trail.steps[: taken.number]]
    guarded = replace(scenario, guards=replace(scenario.guards, **{guard: True}))
    try:
        return restarted(guarded, lambda model: _is_locked_line(model, schedule, part.line))
    except BadScenario:  # only with the guard: nothing is said about it
        return None


def _is_locked_line(model: Model, schedule: Sequence[Step], line: SourceLocation | None) -> bool | None:
    """A call of a line is locked in a run along a schedule, as far as the guard lets it go."""
    trail = Trail(model, ())
    made: list[Call] = []
    for step in schedule:
        if step not in model.steps(trail.world):
            return None
        made = [part.call for part in trail.take(step).parts if part.line == line and part.call is not None]
        if any(is_locked(call) for call in made):
            return True
    return False if made else None
