"""Decides on the plan of a node: a pure function of the node as it was read."""

from __future__ import annotations

from typing import Final

from kontend import get_condition
from kontend.plans import Plan, Task

from .node_tasks import (
    ApplyService,
    ApplyStatefulSet,
    ConfigApply,
    ConfigPatch,
    ConfigValidate,
    EnsureDataVolume,
    MarkReady,
    ObserveImage,
    ReplacePod,
)
from .resources import Object, sidecar_image

MODES: Final = ("fullNode", "archive", "replayer", "validator", "seed")


def plan_for(node: Object) -> Plan | None:
    """Return the plan that the node needs now, None if it is as it should be.

    The images are the goal: a node whose images change in the middle of a plan gets another plan.
    """
    spec, status = node["spec"], node.get("status") or {}
    images = f"{spec['image']} {sidecar_image(node)}"
    if status.get("phase") != "Running":
        return Plan(_first_steps(node), goal=f"run {images}", target_phase="Running", failed_phase="Failed")
    # An image that was never observed has not changed.
    drifted = status.get("currentSidecarImage") not in (None, "", sidecar_image(node))
    if drifted or status.get("currentImage") != spec["image"]:
        return Plan(_update(spec["image"]), goal=f"update to {images}", target_phase="Running")
    ready = get_condition(node, "SidecarReady")
    if ready is not None and ready["status"] == "False":
        return Plan([MarkReady()], goal="mark ready", target_phase="Running")
    return None


def is_update(goal: str) -> bool:
    """Return True for the goal of an update."""
    return goal.startswith("update to ")


def _first_steps(node: Object) -> list[Task]:
    spec = node["spec"]
    mode = next(mode for mode in MODES if mode in spec)
    return [
        EnsureDataVolume(),
        ApplyStatefulSet(),
        ApplyService(),
        ConfigApply(spec["chainId"], mode),
        ConfigValidate(),
        ObserveImage(spec["image"]),
        MarkReady(),
    ]


def _update(image: str) -> list[Task]:
    return [
        ApplyStatefulSet(),
        ApplyService(),
        ConfigPatch(image),
        ConfigValidate(),
        ReplacePod(),
        ObserveImage(image),
        MarkReady(),
    ]
