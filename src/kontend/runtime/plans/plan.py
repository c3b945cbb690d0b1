"""Plans: several steps that must all happen once, in order, whatever crashes in between.

A :class:`Plan` is what a reconcile wants to happen. When it is begun it becomes a plain dict in the status of the
object (:class:`StoredPlan`): an id, and for each task an id derived from it, the frozen parameters and how far it got.
Everything that must survive a crash is in there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypedDict, cast

from kontend.runtime.plans.tasks import Task
from kontend.runtime.writes.snapshot import WrongObject

ACTIVE: Final = "Active"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
PENDING: Final = "Pending"
RUNNING: Final = "Running"


class StoredTask(TypedDict):
    """A task in a stored plan."""

    type: str
    id: str
    #: Pending, Running, Complete or Failed.
    status: str
    params: dict[str, Any]
    maxRetries: int
    retryCount: int
    #: When its command last succeeded; until then it is called, after that only the status is.
    submittedAt: NotRequired[str]
    #: It is not tried again before this time.
    notBefore: NotRequired[str]
    error: NotRequired[str]


class StoredPlan(TypedDict):
    """A plan in the status of an object."""

    id: str
    #: Active, Complete or Failed.
    phase: str
    goal: str
    targetPhase: str
    failedPhase: str
    tasks: list[StoredTask]
    finishedAt: NotRequired[str]
    failedTaskIndex: NotRequired[int]
    failedTaskDetail: NotRequired[dict[str, Any]]


class BadPlan(WrongObject):
    """What the status has in the place of the plan is not one."""


@dataclass(frozen=True)
class Plan:
    """What should happen, in order.

    ``goal`` says in a few words what for (an image, a hash of the spec): a plan is superseded by one with another goal,
    and by no other. ``target_phase`` becomes the phase of the object when all is done, ``failed_phase`` when a task has
    failed for good; without a failed phase, the same goal is tried again later with a new plan.
    """

    tasks: Sequence[Task]
    goal: str = ""
    target_phase: str = ""
    failed_phase: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.tasks, (str, Mapping)) or not all(isinstance(each, Task) for each in self.tasks):
            raise WrongObject(f"Plan: expected a list of tasks, found {self.tasks!r}")
        if not self.tasks:
            raise WrongObject("Plan: a plan needs at least one task; where there is nothing to do, want no plan (None)")
        for name in ("goal", "target_phase", "failed_phase"):
            if not isinstance(getattr(self, name), str):
                raise WrongObject(f"Plan: {name}: expected text, found {getattr(self, name)!r}")

    def begin(self, plan_id: str) -> StoredPlan:
        """The plan as it is stored when it is new."""
        return {
            "id": plan_id,
            "phase": ACTIVE,
            "goal": self.goal,
            "targetPhase": self.target_phase,
            "failedPhase": self.failed_phase,
            "tasks": [
                {
                    "type": task.type,
                    "id": task_id(plan_id, task.type, index),
                    "status": PENDING,
                    "params": task.params(),
                    "maxRetries": task.max_retries,
                    "retryCount": 0,
                }
                for index, task in enumerate(self.tasks)
            ],
        }


def task_id(plan_id: str, type: str, index: int) -> str:
    """The id of a task: the same for the same place in the same plan, and never that of another plan.

    Readable, and fit for a name. Not a hash: whoever sees it (a reader, an explorer that renames ids) can see the plan.

    >>> task_id("7c2f", "set-image", 0)
    '7c2f-0-set-image'
    """
    return f"{plan_id}-{index}-{type}"


def read_plan(found: Any, where: str) -> StoredPlan | None:
    """The plan that the status has, or None; raises :class:`BadPlan` for anything else."""
    if found is None:
        return None
    if (
        not isinstance(found, dict)
        or not _texts(found, "id", "phase")
        or found["phase"] not in (ACTIVE, COMPLETE, FAILED)
        or not isinstance(found.get("tasks"), list)
    ):
        raise BadPlan(f"{where}: expected a plan with id, phase and tasks, found {found!r}")
    for name in ("goal", "targetPhase", "failedPhase"):
        if not isinstance(found.setdefault(name, ""), str):
            raise BadPlan(f"{where}.{name}: expected text, found {found[name]!r}")
    for index, task in enumerate(found["tasks"]):
        if not isinstance(task, dict) or not _texts(task, "type", "id", "status"):
            raise BadPlan(f"{where}.tasks[{index}]: expected a task with type, id and status, found {task!r}")
        if not isinstance(task.setdefault("params", {}), dict):
            raise BadPlan(f"{where}.tasks[{index}].params: expected an object, found {task['params']!r}")
        for name in ("maxRetries", "retryCount"):
            if not isinstance(task.setdefault(name, 0), int):
                raise BadPlan(f"{where}.tasks[{index}].{name}: expected a number, found {task[name]!r}")
    return cast(StoredPlan, found)


def _texts(found: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(found.get(name), str) and found[name] for name in names)
