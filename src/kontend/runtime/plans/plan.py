"""Plans: several steps that must all happen once, in order, whatever crashes in between.

A reconcile makes a :class:`Plan`. When it is begun it becomes a plain dict in the status of the object
(:class:`StoredPlan`): an id, and for each task an id derived from it, the frozen parameters and its progress. The dict
holds everything that must survive a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypedDict, cast

from kontend.kube.errors import WrongObject
from kontend.runtime.plans.tasks import Task

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
    #: The time at which its command succeeded; from then on only its status is queried.
    submittedAt: NotRequired[str]
    #: The time before which it is not tried again.
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
    """The status holds something else in the place of the plan."""


@dataclass(frozen=True)
class Plan:
    """Tasks to execute in order.

    ``goal`` identifies the purpose (an image, a hash of the spec): a plan is superseded by one with another goal, and
    by no other. ``target_phase`` becomes the phase of the object when all tasks are complete, ``failed_phase`` when a
    task has failed for good; without a failed phase, the same goal is tried again later with a new plan.

    >>> Plan([Task()], goal="app:2", target_phase="Running").begin("7c2f")["tasks"][0]["status"]
    'Pending'
    """

    tasks: Sequence[Task]
    goal: str = ""
    target_phase: str = ""
    failed_phase: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.tasks, Sequence) or not all(isinstance(task, Task) for task in self.tasks):
            raise WrongObject(f"Plan: expected a list of tasks, found {self.tasks!r}")
        if not self.tasks:
            raise WrongObject("Plan: a plan needs at least one task; if there is nothing to do, pass None")
        for name in ("goal", "target_phase", "failed_phase"):
            if not isinstance(getattr(self, name), str):
                raise WrongObject(f"Plan: {name}: expected text, found {getattr(self, name)!r}")

    def begin(self, plan_id: str) -> StoredPlan:
        """Return the plan as it is stored when it is new."""
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
    """Return the id of a task: the same for the same index in the same plan, and never that of another plan.

    It is readable and fit for a name. It is not a hash, so that readers, and an explorer that renames uuids, recognize
    the id of the plan in it.

    >>> task_id("7c2f", "set-image", 0)
    '7c2f-0-set-image'
    """
    return f"{plan_id}-{index}-{type}"


def read_plan(value: Any, path: str) -> StoredPlan | None:
    """Return the plan in the status, or None; raises :class:`BadPlan` for anything else."""
    if value is None:
        return None
    if (
        not isinstance(value, dict)
        or not _texts(value, "id", "phase")
        or value["phase"] not in (ACTIVE, COMPLETE, FAILED)
        or not isinstance(value.get("tasks"), list)
    ):
        raise BadPlan(f"{path}: expected a plan with id, phase and tasks, found {value!r}")
    for name in ("goal", "targetPhase", "failedPhase"):
        if not isinstance(value.setdefault(name, ""), str):
            raise BadPlan(f"{path}.{name}: expected text, found {value[name]!r}")
    for index, task in enumerate(value["tasks"]):
        if not isinstance(task, dict) or not _texts(task, "type", "id", "status"):
            raise BadPlan(f"{path}.tasks[{index}]: expected a task with type, id and status, found {task!r}")
        if not isinstance(task.setdefault("params", {}), dict):
            raise BadPlan(f"{path}.tasks[{index}].params: expected an object, found {task['params']!r}")
        for name in ("maxRetries", "retryCount"):
            if not isinstance(task.setdefault(name, 0), int):
                raise BadPlan(f"{path}.tasks[{index}].{name}: expected a number, found {task[name]!r}")
    return cast(StoredPlan, value)


def _texts(value: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(value.get(name), str) and value[name] for name in names)
