"""Plans as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kontend.kube.errors import WrongObject
from kontend.runtime.plans.plan import BadPlan, Plan, read_plan, task_id
from kontend.runtime.plans.tasks import Task


@dataclass(frozen=True)
class Step(Task):
    n: int
    max_retries = 3


def test_a_new_plan_has_everything_that_must_survive() -> None:
    plan = Plan([Step(1), Step(2)], goal="v2", target_phase="Running", failed_phase="Failed")
    assert plan.begin("p1") == {
        "id": "p1", "phase": "Active", "goal": "v2", "targetPhase": "Running", "failedPhase": "Failed",
        "tasks": [
            {"type": "step", "id": f"p1-{n}-step", "status": "Pending", "params": {"n": n + 1}, "maxRetries": 3,
             "retryCount": 0}
            for n in range(2)
        ],
    }  # fmt: skip


def test_task_ids_come_from_the_plan_the_type_and_the_place() -> None:
    ids = {task_id(plan, type, index) for plan in ("p", "q") for type in ("a", "b") for index in range(3)}
    assert len(ids) == 12
    assert task_id("p", "a", 0) == task_id("p", "a", 0)


@pytest.mark.parametrize("tasks", [[], None, "step", [1], [Step], {"a": Step(1)}])
def test_a_plan_needs_tasks(tasks: Any) -> None:
    with pytest.raises((WrongObject, TypeError)):
        Plan(tasks)


@pytest.mark.parametrize("field", ["goal", "target_phase", "failed_phase"])
def test_goal_and_phases_are_text(field: str) -> None:
    with pytest.raises(WrongObject, match=f"^Plan: {field}: expected text, found 3$"):
        Plan([Step(1)], **{field: 3})  # type: ignore[arg-type]


def test_what_was_stored_is_read_back() -> None:
    stored: Any = Plan([Step(1)]).begin("p1")
    assert read_plan(stored, "status.plan") == Plan([Step(1)]).begin("p1")
    assert read_plan(None, "status.plan") is None


@pytest.mark.parametrize(
    ("garbage", "where"),
    [
        ("x", "status.plan: expected a plan"),
        ({}, "status.plan: expected a plan"),
        ({"id": "p", "phase": "Odd", "tasks": []}, "status.plan: expected a plan"),
        ({"id": "p", "phase": "Active", "tasks": {}}, "status.plan: expected a plan"),
        ({"id": "p", "phase": "Active", "tasks": [], "goal": 1}, r"status.plan.goal: expected text"),
        ({"id": "p", "phase": "Active", "tasks": [1]}, r"status.plan.tasks\[0\]: expected a task"),
        (
            {"id": "p", "phase": "Active", "tasks": [{"type": "a", "id": "b", "status": "c", "params": 1}]},
            r"status.plan.tasks\[0\].params: expected an object",
        ),
        (
            {"id": "p", "phase": "Active", "tasks": [{"type": "a", "id": "b", "status": "c", "retryCount": "1"}]},
            r"status.plan.tasks\[0\].retryCount: expected a number",
        ),
    ],
)
def test_garbage_is_a_clear_error(garbage: Any, where: str) -> None:
    with pytest.raises(BadPlan, match=where):
        read_plan(garbage, "status.plan")
