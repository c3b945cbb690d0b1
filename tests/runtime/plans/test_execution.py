"""Plans at work: begun once, carried on after any crash, ended in sight of everybody."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from types import coroutine
from typing import Any, ClassVar

import pytest

from cluster.objects import WIDGET, config_map, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import AlreadyExists, Conflict, InternalError, NotFound, Timeout, WrongObject
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.plans.execution import Progress, execute, retry_backoff
from kontend.runtime.plans.plan import BadPlan, Plan, task_id
from kontend.runtime.plans.tasks import COMPLETE, RUNNING, Run, Task, TaskFailed, TaskStatus, TerminalError
from kontend.runtime.writes.children import sync_child
from kontend.runtime.writes.scope import NotStored, StaleObject, StatusScope
from runtime.wire import Crash, Fault, Wire, run, wired


@dataclass
class Sidecar:
    """A machine outside the cluster that does work once for each id, and answers what became of it."""

    submitted: list[str] = field(default_factory=list)
    #: The answers to the next queries; done when nothing is left.
    answers: list[TaskStatus | Exception] = field(default_factory=list)
    #: The errors that the next submissions raise.
    refusals: list[Exception] = field(default_factory=list)

    def submit(self, task: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.submitted.append(task)

    def ask(self) -> TaskStatus:
        answer = self.answers.pop(0) if self.answers else COMPLETE
        if isinstance(answer, Exception):
            raise answer
        return answer


SIDECAR = Sidecar()


@pytest.fixture(autouse=True)
def sidecar() -> Sidecar:
    SIDECAR.submitted, SIDECAR.answers, SIDECAR.refusals = [], [], []
    return SIDECAR


class WriteConfig(Task):
    async def execute(self, run: Run) -> None:
        with suppress(AlreadyExists):
            await run.api.create(config_map(f"config-{run.id}"))


@dataclass(frozen=True)
class Work(Task):
    amount: int = 1
    max_retries: ClassVar[int] = 2

    async def execute(self, run: Run) -> None:
        SIDECAR.submit(run.id)

    async def status(self, run: Run) -> TaskStatus:  # noqa: ARG002 - part of the interface
        return SIDECAR.ask()


@dataclass(frozen=True)
class ObserveImage(Task):
    image: str

    async def execute(self, run: Run) -> None:
        run.obj["status"]["currentImage"] = self.image


TASKS = [WriteConfig, Work, ObserveImage]


def rollout(image: str, *, failed_phase: str = "Failed") -> Plan:
    steps = [WriteConfig(), Work(2), ObserveImage(image)]
    return Plan(steps, goal=image, target_phase="Running", failed_phase=failed_phase)


async def reconcile(api: Api, *, failed_phase: str = "Failed") -> Progress:
    """Plan as an operator would: a plan when the image is not the one observed."""
    obj = await api.get(WIDGET, "default/w")
    image = obj["spec"]["image"]
    drift = (obj.get("status") or {}).get("currentImage") != image
    return await execute(api, obj, rollout(image, failed_phase=failed_phase) if drift else None, tasks=TASKS)


def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[widget(spec={"image": "v1"})])


def status(server: Cluster) -> dict[str, Any]:
    stored: dict[str, Any] = server.get(WIDGET, "w").get("status") or {}
    return stored


def plan(server: Cluster) -> Any:
    return status(server).get("plan")


def history(server: Cluster, since: str) -> list[Any]:
    """The status of every version since."""
    return [event["object"].get("status") or {} for event in server.watch(WIDGET, since=since)]


# A plan's life


def test_the_reconcile_that_makes_a_plan_does_not_execute_it() -> None:
    server = cluster()
    api, wire = wired(server)
    progress = run(reconcile(api))
    assert (progress.action, progress.plan) == ("created", plan(server))
    assert progress.result is not None
    assert [task["status"] for task in plan(server)["tasks"]] == ["Pending"] * 3
    assert SIDECAR.submitted == []
    assert server.list("ConfigMap/v1") == []
    assert [call.subresource for call in wire.writes] == ["status"]
    assert "resourceVersion" in wire.bodies[0]["metadata"]


def test_a_plan_is_carried_out_ends_stays_for_one_reconcile_and_is_cleared() -> None:
    server = cluster()
    api, _ = wired(server)
    since = server.resource_version
    actions = [run(reconcile(api)).action for _ in range(4)]
    assert actions == ["created", "completed", "cleared", "idle"]
    assert status(server) == {"currentImage": "v1", "phase": "Running"}
    ended = [status["plan"]["phase"] for status in history(server, since) if "plan" in status]
    assert ended[-1] == "Complete"
    assert SIDECAR.submitted == [task_id("a-1", "work", 1)]


def test_the_end_is_observed_as_the_former_plan() -> None:
    server = cluster()
    api, _ = wired(server)
    for _ in range(2):
        run(reconcile(api))
    assert (plan(server)["phase"], plan(server)["finishedAt"]) == ("Complete", server.now)
    progress = run(reconcile(api))
    assert progress.plan is None
    assert progress.former is not None
    assert progress.former["phase"] == "Complete"


def test_what_a_task_observes_is_stored_together_with_its_end() -> None:
    server = cluster()
    api, _ = wired(server)
    since = server.resource_version
    for _ in range(3):
        run(reconcile(api))
    for status in history(server, since):
        if "currentImage" in status and "plan" in status:
            assert status["plan"]["tasks"][2]["status"] == "Complete"


def test_before_each_command_a_locked_write_stores_the_end_of_the_task_before() -> None:
    server = cluster()
    run(reconcile(wired(server)[0]))
    api, wire = wired(server)
    run(reconcile(api))
    statuses = [
        [task["status"] for task in body["status"]["plan"]["tasks"]]
        for call, body in zip(wire.writes, wire.bodies, strict=True)
        if call.subresource == "status"
    ]
    assert statuses == [
        ["Running", "Pending", "Pending"],
        ["Complete", "Running", "Pending"],
        ["Complete", "Complete", "Running"],
        ["Complete", "Complete", "Complete"],
    ]
    flushes = [body for call, body in zip(wire.writes, wire.bodies, strict=True) if call.subresource]
    assert all("resourceVersion" in body["metadata"] for body in flushes)


def test_a_running_task_is_asked_and_not_begun_again(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [RUNNING, RUNNING, RUNNING]
    run(reconcile(api))
    for _ in range(3):
        progress = run(reconcile(api))
        assert (progress.action, progress.requeue_after) == ("waiting", 5.0)
    before = server.resource_version
    sidecar.answers = [RUNNING]
    run(reconcile(api))
    assert server.resource_version == before
    assert run(reconcile(api)).action == "completed"
    assert len(sidecar.submitted) == 1


def test_a_finished_plan_makes_room_for_the_next() -> None:
    server = cluster()
    api, _ = wired(server)
    for _ in range(2):
        run(reconcile(api))
    server.patch(WIDGET, "w", {"spec": {"image": "v2"}})
    progress = run(reconcile(api))
    assert progress.action == "created"
    assert progress.former is not None
    assert progress.former["id"] == "a-1"
    assert (plan(server)["id"], plan(server)["goal"]) == ("a-2", "v2")


# What goes wrong in a task


def test_a_failed_task_is_tried_again_with_the_same_id_not_before_its_time(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [TaskFailed("no space"), TaskFailed("no space")]
    run(reconcile(api))
    for wait in (10, 20):
        progress = run(reconcile(api))
        assert (progress.action, progress.requeue_after) == ("waiting", wait)
        task = plan(server)["tasks"][1]
        assert (task["status"], task["error"]) == ("Pending", "no space")
        before, submitted = server.resource_version, len(sidecar.submitted)
        server.advance(wait - 1)
        early = run(reconcile(api))  # woken up by something else
        assert (early.action, early.requeue_after) == ("waiting", 1)
        assert (server.resource_version, len(sidecar.submitted)) == (before, submitted)
        server.advance(1)
    assert run(reconcile(api)).action == "completed"
    assert "notBefore" not in plan(server)["tasks"][1]
    assert len(sidecar.submitted) == 3
    assert len(set(sidecar.submitted)) == 1


def test_when_the_retries_are_used_up_the_plan_fails(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [TaskFailed("no space")] * 3
    run(reconcile(api))
    for _ in range(3):
        progress = run(reconcile(api))
        server.advance(30)
    assert progress.action == "failed"
    assert status(server)["phase"] == "Failed"
    stored = plan(server)
    assert (stored["phase"], stored["failedTaskIndex"]) == ("Failed", 1)
    assert stored["failedTaskDetail"] == {
        "type": "work", "id": task_id("a-1", "work", 1), "error": "no space", "retryCount": 2, "maxRetries": 2,
    }  # fmt: skip
    assert "currentImage" not in status(server)


@pytest.mark.parametrize("where", ["answers", "refusals"])
def test_a_terminal_error_fails_the_plan_at_once(sidecar: Sidecar, where: str) -> None:
    server = cluster()
    api, _ = wired(server)
    setattr(sidecar, where, [TerminalError("wrong chain")])
    run(reconcile(api))
    assert run(reconcile(api)).action == "failed"
    assert plan(server)["failedTaskDetail"]["error"] == "wrong chain"
    assert plan(server)["tasks"][1]["status"] == "Failed"


def test_a_failed_plan_with_a_failed_phase_stays_until_another_goal_is_wanted(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [TerminalError("wrong chain")]
    for _ in range(2):
        run(reconcile(api))
    before = server.resource_version
    for _ in range(3):
        server.advance(3600)
        progress = run(reconcile(api))
        assert (progress.action, progress.result) == ("kept", None)
    assert server.resource_version == before
    server.patch(WIDGET, "w", {"spec": {"image": "v2"}})
    assert run(reconcile(api)).action == "created"
    assert run(reconcile(api)).action == "completed"
    assert status(server)["phase"] == "Running"


@pytest.mark.parametrize(("failed_phase", "action"), [("Failed", "kept"), ("", "cleared")])
def test_a_failed_plan_when_nothing_is_wanted_any_more(failed_phase: str, action: str, sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [TerminalError("wrong chain")]
    for _ in range(2):
        run(reconcile(api, failed_phase=failed_phase))
    server.patch(WIDGET, "w", {"status": {"currentImage": "v1"}}, subresource="status")
    assert run(reconcile(api, failed_phase=failed_phase)).action == action
    assert (plan(server) is None) == (action == "cleared")


@pytest.mark.parametrize("failed_phase", ["", "Failed"])
def test_a_complete_plan_is_cleared_whatever_its_failed_phase(failed_phase: str, sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    actions = [run(reconcile(api, failed_phase=failed_phase)).action for _ in range(3)]
    assert actions == ["created", "completed", "cleared"]
    assert plan(server) is None
    assert len(sidecar.submitted) == 1


def test_a_failed_plan_without_a_failed_phase_is_tried_again_later_with_new_ids(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [TerminalError("not now")]
    for _ in range(2):
        run(reconcile(api, failed_phase=""))
    assert "phase" not in status(server)
    progress = run(reconcile(api, failed_phase=""))
    assert (progress.action, progress.requeue_after) == ("kept", 30.0)
    server.advance(30)
    progress = run(reconcile(api, failed_phase=""))
    assert (progress.action, plan(server)["id"]) == ("created", "a-2")
    assert run(reconcile(api, failed_phase="")).action == "completed"
    assert len(set(sidecar.submitted)) == 2


def test_any_other_error_is_stored_and_raised_and_the_command_called_again(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    failure = InternalError("try later")
    sidecar.refusals = [failure, failure]
    run(reconcile(api))
    for _ in range(2):
        with pytest.raises(InternalError) as raised:
            run(reconcile(api))
        assert raised.value is failure
        task = plan(server)["tasks"][1]
        assert (task["status"], task["retryCount"]) == ("Running", 0)
        assert task["error"] == "InternalError: try later"
        assert plan(server)["phase"] == "Active"
    assert run(reconcile(api)).action == "completed"
    assert "error" not in plan(server)["tasks"][1]


def test_an_error_of_the_query_does_not_make_the_command_run_again(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [InternalError("no answer")]
    run(reconcile(api))
    with pytest.raises(InternalError):
        run(reconcile(api))
    run(reconcile(api))
    assert len(sidecar.submitted) == 1


def test_a_task_of_an_unknown_type_fails_the_plan() -> None:
    server = cluster()
    api, _ = wired(server)
    run(reconcile(api))
    progress = run(execute(api, server.get(WIDGET, "w"), None, tasks=[WriteConfig]))
    assert progress.action == "failed"
    assert "unknown task type 'work'" in plan(server)["failedTaskDetail"]["error"]


def test_backoff_grows_and_ends() -> None:
    assert [retry_backoff(retry) for retry in (1, 2, 3, 4, 50)] == [10, 20, 30, 30, 30]


# Superseding


def test_another_goal_supersedes_the_plan_and_does_not_execute_yet(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    sidecar.answers = [RUNNING]
    for _ in range(2):
        run(reconcile(api))
    server.patch(WIDGET, "w", {"spec": {"image": "v2"}})
    progress = run(reconcile(api))
    assert progress.action == "superseded"
    assert progress.former is not None
    assert progress.former["id"] == "a-1"
    assert (plan(server)["id"], plan(server)["goal"]) == ("a-2", "v2")
    assert len(sidecar.submitted) == 1
    assert run(reconcile(api)).action == "completed"
    assert status(server)["currentImage"] == "v2"


def test_the_same_goal_and_no_goal_do_not_supersede() -> None:
    server = cluster()
    api, _ = wired(server)
    SIDECAR.answers = [RUNNING, RUNNING, RUNNING]
    run(reconcile(api))
    run(reconcile(api))
    assert run(execute(api, server.get(WIDGET, "w"), None, tasks=TASKS)).action == "waiting"
    assert plan(server)["id"] == "a-1"


def test_a_stale_object_begins_no_command_of_a_superseded_plan() -> None:
    server = cluster()
    old, old_wire = wired(server, name="old")
    run(reconcile(old))
    stale = server.get(WIDGET, "w")
    old_wire.inner.lag(WIDGET)
    server.patch(WIDGET, "w", {"spec": {"image": "v2"}})
    new, _ = wired(server, name="new")
    assert run(reconcile(new)).action == "superseded"
    with pytest.raises(Conflict):
        run(reconcile(old))
    with pytest.raises(Conflict):
        run(execute(old, stale, None, tasks=TASKS))
    assert SIDECAR.submitted == []
    assert server.list("ConfigMap/v1") == []
    assert plan(server)["id"] == "new-1"


def test_a_stale_object_repeats_no_command_that_was_cut_off(sidecar: Sidecar) -> None:
    """Its plan says that the task has begun, but not how it went: before it is repeated the server is asked."""
    server = cluster()
    run(reconcile(wired(server)[0]))
    sidecar.refusals = [InternalError("try later")]
    with pytest.raises(InternalError):
        run(reconcile(wired(server)[0]))
    stale = server.get(WIDGET, "w")
    assert stale["status"]["plan"]["tasks"][1]["status"] == "Running"
    server.patch(WIDGET, "w", {"spec": {"image": "v2"}})
    assert run(reconcile(wired(server, name="new")[0])).action == "superseded"
    with pytest.raises(StaleObject):
        run(execute(wired(server)[0], stale, None, tasks=TASKS))
    assert sidecar.submitted == []


def test_a_stale_object_repeats_no_command_that_is_done(sidecar: Sidecar) -> None:
    server = cluster()
    api, _ = wired(server)
    run(reconcile(api))
    stale = server.get(WIDGET, "w")
    run(reconcile(api))
    with pytest.raises(Conflict):
        run(execute(wired(server)[0], stale, None, tasks=TASKS))
    assert len(sidecar.submitted) == 1


# Two reconciles of one object, both see no plan


def _locked(server: Cluster, name: str, obj: dict[str, Any]) -> None:
    run(execute(wired(server, name=name)[0], obj, rollout("v1"), tasks=TASKS))


def _merge_patch(server: Cluster, name: str, _: dict[str, Any]) -> None:
    server.patch(WIDGET, "w", {"status": {"plan": rollout("v1").begin(name)}}, subresource="status")


def _apply(server: Cluster, name: str, _: dict[str, Any]) -> None:
    stored = {**widget(), "status": {"plan": rollout("v1").begin(name)}}
    server.apply(stored, manager="controller", force=True, subresource="status")


@pytest.mark.parametrize(("write", "plans"), [(_locked, 1), (_merge_patch, 2), (_apply, 2)])
def test_of_two_reconciles_that_see_no_plan_exactly_one_makes_one(write: Any, plans: int) -> None:
    """It holds with optimistic concurrency, and not with a plain merge patch nor with apply by one manager."""
    server = cluster()
    since = server.resource_version
    both = [("first", server.get(WIDGET, "w")), ("second", server.get(WIDGET, "w"))]
    for name, obj in both:
        try:
            write(server, name, obj)
        except Conflict:
            progress = run(reconcile(wired(server, name=name)[0]))  # it looks again, and carries on with what it finds
            assert progress.action == "completed"
    made = {status["plan"]["id"] for status in history(server, since)}
    assert len(made) == plans


# In a scope


def test_in_a_scope_the_end_of_the_reconcile_is_one_flush() -> None:
    async def one() -> Progress:
        obj = await api.get(WIDGET, "default/w")
        async with StatusScope(api, obj) as scope:
            scope.status["seen"] = obj["spec"]["image"]
            progress = await execute(api, scope, rollout("v1"), tasks=[*TASKS])
            scope.set_condition("Progressing", progress.action != "completed", "Plan")
            return progress

    server = cluster()
    api, wire = wired(server)
    run(one())
    assert status(server)["seen"] == "v1"
    SIDECAR.answers = [RUNNING, RUNNING]
    run(one())
    before = len(wire.writes)
    run(one())
    assert len(wire.writes) == before
    assert run(one()).action == "completed"
    assert (status(server)["phase"], status(server)["plan"]["phase"]) == ("Running", "Complete")


class ApplyConfig(Task):
    async def execute(self, run: Run) -> None:
        await sync_child(run.api, run.scope, config_map("child", data={"id": run.id}))


def test_a_task_may_have_a_tracked_child_of_its_own() -> None:
    server = cluster()
    api, _ = wired(server)
    wanted = Plan([ApplyConfig(), ObserveImage("v1")])
    actions = [
        run(execute(api, server.get(WIDGET, "w"), wanted, tasks=[ApplyConfig, ObserveImage])).action for _ in "12"
    ]
    assert actions == ["created", "completed"]
    assert server.get("ConfigMap/v1", "child")["data"] == {"id": task_id("a-1", "apply-config", 0)}
    assert tracking(server) == "child"
    assert plan(server)["phase"] == "Complete"


# Driven by somebody else


class Stepwise:
    """A backend that hands each call to the driver of the coroutine, as an explorer does."""

    def __init__(self, inner: InProcess) -> None:
        self.inner = inner
        self.is_namespaced, self.now, self.uuid = inner.is_namespaced, inner.now, inner.uuid

    @coroutine
    def call(self, call: Call) -> Generator[Call, Any, Any]:
        return (yield call)


async def _scoped(api: Api) -> Progress:
    obj = await api.get(WIDGET, "default/w")
    async with StatusScope(api, obj) as scope:
        progress = await execute(api, scope, rollout("v1"), tasks=TASKS)
        await sync_child(api, scope, config_map("child"))
        scope.set_condition("Ready", True, "Done")
        return progress


def test_a_reconcile_is_suspended_at_its_calls_and_can_be_given_up_at_each_of_them() -> None:
    for stop in range(20):
        server = cluster()
        run(reconcile(wired(server)[0]))
        inner = InProcess(server)
        steps = _scoped(Api(Stepwise(inner)))
        answer: Any = None
        try:
            for _ in range(stop):
                call = steps.send(answer)
                assert isinstance(call, Call)
                before = server.state
                answer = inner.answer(call) if call.verb != "get" or call.name != "child" else None
                if answer is None:
                    call = steps.throw(NotFound("no child"))
                    answer = inner.answer(call)
            before = server.state
            steps.close()
            assert server.state is before
        except StopIteration:
            assert tracking(server) == "child"
            return
    raise AssertionError("does not end")


def tracking(server: Cluster) -> Any:
    return status(server)["child"]["name"]


# What is refused


def test_garbage_in_the_place_of_the_plan_is_a_clear_error() -> None:
    server = Cluster(crds=[definition()], objects=[widget(spec={"image": "v1"}, status={"plan": {"id": 7}})])
    with pytest.raises(BadPlan, match=r"status\.plan: expected a plan"):
        run(reconcile(wired(server)[0]))


def documented(*without: str) -> Cluster:
    """A cluster whose schema has what docs/plans.md asks for, or not all of it."""

    def fields(type: str, names: str) -> dict[str, Any]:
        return {name: {"type": type} for name in names.split() if name not in without}

    task = fields("string", "type id status submittedAt notBefore error") | fields("integer", "maxRetries retryCount")
    task["params"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plan = fields("string", "id phase goal targetPhase failedPhase finishedAt") | fields("integer", "failedTaskIndex")
    plan["failedTaskDetail"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plan["tasks"] = {"type": "array", "items": {"type": "object", "properties": task}}
    status = fields("string", "phase currentImage") | {"plan": {"type": "object", "properties": plan}}
    spec = {"type": "object", "properties": {"image": {"type": "string"}}}
    properties = {"spec": spec, "status": {"type": "object", "properties": status}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return Cluster(crds=[definition(schema=schema)], objects=[widget(spec={"image": "v1"})])


def test_the_documented_schema_is_enough(sidecar: Sidecar) -> None:
    server = documented()
    api, _ = wired(server)
    sidecar.answers = [RUNNING, TaskFailed("once")]
    for _ in range(4):
        run(reconcile(api))
        server.advance(30)
    assert plan(server)["phase"] == "Complete"
    assert run(reconcile(api)).action == "cleared"


@pytest.mark.parametrize("missing", ["goal", "type", "id", "retryCount"])
def test_a_schema_that_drops_a_field_of_the_plan_is_a_clear_error(missing: str) -> None:
    server = documented(missing)
    with pytest.raises(NotStored, match=rf"did not keep status\.plan\..*{missing}: the schema of Widget"):
        run(reconcile(wired(server)[0]))
    assert SIDECAR.submitted == []


@pytest.mark.parametrize("missing", ["submittedAt", "notBefore", "error"])
def test_a_schema_that_forgets_how_far_a_task_was_is_a_clear_error(sidecar: Sidecar, missing: str) -> None:
    server = documented(missing)
    api, _ = wired(server)
    run(reconcile(api))
    sidecar.answers = [RUNNING if missing == "submittedAt" else TaskFailed("no space")]
    with pytest.raises(NotStored, match=rf"{missing}: the schema of Widget"):
        run(reconcile(api))


def test_a_schema_that_forgets_when_a_plan_ended_is_a_clear_error(sidecar: Sidecar) -> None:
    server = documented("finishedAt")
    api, _ = wired(server)
    sidecar.answers = [TerminalError("no")]
    for _ in range(2):
        run(reconcile(api, failed_phase=""))
    with pytest.raises(BadPlan, match="does the schema keep it"):
        run(reconcile(api, failed_phase=""))


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject):
        run(execute(api, None, rollout("v1"), tasks=TASKS))  # type: ignore[arg-type]
    with pytest.raises(WrongObject):
        run(execute(api, server.get(WIDGET, "w"), None, tasks=[Work()]))  # type: ignore[list-item]
    assert wire.calls == []


# Every crash

FAULTS = [
    Fault(Crash()),
    Fault(Crash(), committed=True),
    Fault(Timeout("lost")),
    Fault(Timeout("lost"), committed=True),
    Fault(Conflict("injected")),
]


def _settle(server: Cluster, at: dict[int, Fault] | None = None, *, name: str = "first") -> Wire:
    """Reconcile until nothing is left to do: a crash or an error starts over with a fresh process."""
    api, first = wired(server, at=at, name=name)
    for process in range(12):
        try:
            if run(reconcile(api)).action == "idle":
                return first
        except (Crash, Timeout, Conflict):
            api, _ = wired(server, name=f"{name}-{process}")
    raise AssertionError("does not settle")


def _calls() -> int:
    """Count the calls of an unperturbed run."""
    SIDECAR.answers = [RUNNING]
    calls = len(_settle(cluster()).calls)
    SIDECAR.submitted.clear()
    return calls


def assert_sound(server: Cluster, since: str) -> None:
    """One plan, each side effect under one id, all of it seen."""
    assert status(server) == {"currentImage": "v1", "phase": "Running"}
    versions = [status["plan"] for status in history(server, since) if "plan" in status]
    assert len({version["id"] for version in versions}) == 1
    assert versions[-1]["phase"] == "Complete"
    assert len(set(SIDECAR.submitted)) == 1
    assert SIDECAR.submitted[0] == versions[-1]["tasks"][1]["id"] == task_id(versions[0]["id"], "work", 1)
    assert [config_map["metadata"]["name"] for config_map in server.list("ConfigMap/v1")] == [
        f"config-{versions[-1]['tasks'][0]['id']}"
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{type(fault.error).__name__}-{fault.committed}")
def test_whatever_call_fails_there_is_one_plan_and_each_effect_has_one_id(fault: Fault) -> None:
    for n in range(_calls()):
        server = cluster()
        since = server.resource_version
        SIDECAR.submitted, SIDECAR.answers = [], [RUNNING]
        _settle(server, {n: fault})
        assert_sound(server, since)
        # Once its success is stored a command is never called again: at most the attempt that was cut off is repeated.
        assert len(SIDECAR.submitted) <= 2


def test_two_crashes_in_a_row_are_survived_as_well() -> None:
    for n in range(_calls()):
        for m in count():
            server = cluster()
            since = server.resource_version
            SIDECAR.submitted, SIDECAR.answers = [], [RUNNING]
            api, _ = wired(server, at={n: Fault(Crash(), committed=True)}, name="zeroth")
            with suppress(Crash):
                while True:
                    run(reconcile(api))
            wire = _settle(server, {m: Fault(Crash(), committed=True)})
            assert_sound(server, since)
            if m >= len(wire.calls):
                break


def test_whenever_a_second_process_reconciles_in_between_there_is_one_plan() -> None:
    for n in range(_calls()):
        server = cluster()
        since = server.resource_version
        SIDECAR.submitted, SIDECAR.answers = [], [RUNNING]
        rival, _ = wired(server, name="rival")

        def interfere(rival: Api = rival) -> None:
            run(reconcile(rival))

        api, wire = wired(server, at={n: interfere})
        while n >= len(wire.calls):
            try:
                run(reconcile(api))
            except Conflict:
                continue
        _settle(server)
        assert_sound(server, since)
