"""Guards that would have locked a write: the same schedule is followed once more with the guard on.

Guards do not apply to every write: a patch that was given whole stays as it is, and so does one that says
``lock=False``. Only the call that the code then makes tells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.restarts import restarted
from kontend.runtime.client.call import Call


def is_locked(call: Call) -> bool:
    """A write that carries a resourceVersion, or a delete with preconditions."""
    try:
        body: Any = orjson.loads(call.body or b"{}")
    except orjson.JSONDecodeError:  # a patch of another format
        return False
    if isinstance(body, list):
        return any(operation.get("path") == "/metadata/resourceVersion" for operation in body)
    return bool((body.get("metadata") or {}).get("resourceVersion") or body.get("preconditions"))


def locks(trail: Trail, taken: Taken, part: Part, guard: str) -> bool:
    """A guard that is off in the scenario would have locked a call of a step."""
    scenario = trail.model.scenario
    if getattr(scenario.guards, guard):
        return False
    at = taken.parts.index(part)
    schedule = [earlier.step for earlier in trail.steps[: taken.number]]

    def is_locked_then(model: Model) -> bool:
        parts = Trail(model, schedule).steps[-1].parts
        call = parts[at].call if at < len(parts) else None
        return call is not None and is_locked(call)

    try:
        return restarted(replace(scenario, guards=replace(scenario.guards, **{guard: True})), is_locked_then)
    except BadScenario:  # the guard changes the steps before this one
        return False
