"""Execution of plans: begin, continue after a crash, end, supersede.

A reconcile calls :func:`execute` with the plan it would make now. The rules:

- A plan is stored, locked, by the reconcile that makes it, and executed only by later ones. Of two reconciles that both
  see no plan, one is refused and finds the other's plan when it looks again.
- Before a task begins, a locked write records that; before its command is repeated, the object is read from the
  server. So no command begins for a plan that has been superseded or has ended, however stale the object in hand, and
  none before the end of the task before it is stored. (Repeats are not counted in the plan: two
  processes that count each other out would never end.)
- A command may run again after a crash, with the same id; once its success is stored it does not.
- A failed task is tried again not before a stored time, whatever wakes the reconcile up earlier.
- A plan that has ended stays for one more reconcile, so that others can see how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from kontend.cluster.times import rfc3339, seconds
from kontend.kube.json_types import Object
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Result
from kontend.runtime.plans.plan import (
    ACTIVE,
    COMPLETE,
    FAILED,
    PENDING,
    RUNNING,
    BadPlan,
    Plan,
    StoredPlan,
    StoredTask,
    read_plan,
)
from kontend.runtime.plans.tasks import Run, Task, TaskFailed, TerminalError, make_task, task_types
from kontend.runtime.writes.scope import StatusScope

AT_ONCE: Final = 0.001


@dataclass(frozen=True, slots=True)
class Progress:
    """Result of :func:`execute`.

    >>> Progress("waiting", requeue_after=5.0).result
    Result(requeue=False, requeue_after=5.0)
    """

    action: Literal["idle", "created", "superseded", "waiting", "completed", "failed", "kept", "cleared"]
    #: The plan as it is now, if there is one.
    plan: StoredPlan | None = None
    #: The plan that was there before and is not any more: it had ended, or was superseded.
    former: StoredPlan | None = None
    requeue_after: float | None = None

    @property
    def result(self) -> Result | None:
        """The result for a reconcile to return."""
        return None if self.requeue_after is None else Result(requeue_after=self.requeue_after)


async def execute(
    api: Api,
    target: Object | StatusScope,
    wanted: Plan | None,
    *,
    tasks: Iterable[type[Task]],
    field: str = "plan",
    phase_field: str = "phase",
    retry_failed_after: float = 30.0,
) -> Progress:
    """Begin ``wanted``, or continue the plan that the object has.

    ``wanted`` is the plan that the reconcile would make now, None if there is nothing to do. It is begun when there is
    no plan, or one that has ended, and it supersedes an active plan of another goal. ``tasks`` are all the task
    classes that a stored plan may name. A plan that failed and has no failed phase is tried again after
    ``retry_failed_after`` seconds; with a failed phase it stays until another goal is wanted. Errors of a task that
    are neither :class:`TaskFailed` nor :class:`TerminalError` are stored with the task and raised: the command is
    called again at the next reconcile.

    >>> from dataclasses import dataclass
    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> @dataclass(frozen=True)
    ... class SetImage(Task):
    ...     image: str
    ...     async def execute(self, run):
    ...         run.obj["status"]["image"] = self.image
    >>> class Widgets(Controller):
    ...     kind = "Widget.example.com/v1"
    ...     async def reconcile(self, request, api):
    ...         widget = await api.get(self.kind, request)
    ...         wanted = Plan([SetImage("app:2")], goal="app:2")
    ...         if widget.get("status", {}).get("image") == "app:2":
    ...             wanted = None
    ...         return (await execute(api, widget, wanted, tasks=[SetImage])).result
    >>> schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    >>> v1 = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    >>> names = {"plural": "widgets", "kind": "Widget"}
    >>> crd = {
    ...     "apiVersion": "apiextensions.k8s.io/v1",
    ...     "kind": "CustomResourceDefinition",
    ...     "metadata": {"name": "widgets.example.com"},
    ...     "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [v1]},
    ... }
    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    >>> cluster = Cluster(crds=[crd], objects=[widget])
    >>> settle(cluster, Widgets())
    5
    >>> cluster.get("Widget.example.com/v1", "w")["status"]
    {'image': 'app:2'}
    """
    types = task_types(tasks)
    if isinstance(target, StatusScope):
        return await _execute(_Execution(api, target, field, phase_field, types), wanted, retry_failed_after)
    async with StatusScope(api, target) as scope:
        return await _execute(_Execution(api, scope, field, phase_field, types), wanted, retry_failed_after)


def retry_backoff(retry: int) -> int:
    """Return the seconds to wait before the n-th retry of a task.

    >>> [retry_backoff(retry) for retry in range(1, 5)]
    [10, 20, 30, 30]
    """
    return int(min(5 * 2 ** min(retry, 5), 30))


async def _execute(execution: _Execution, wanted: Plan | None, retry_failed_after: float) -> Progress:
    plan = execution.plan
    if plan is None:
        return Progress("idle") if wanted is None else await execution.begin(wanted, "created")
    if plan["phase"] == ACTIVE:
        if wanted is not None and wanted.goal != plan["goal"]:
            return await execution.begin(wanted, "superseded", copy_json(plan))
        return await execution.advance()
    if plan["phase"] == FAILED and (wanted is None or wanted.goal == plan["goal"]):
        if plan["failedPhase"]:
            return Progress("kept", plan)
        if "finishedAt" not in plan:
            raise BadPlan(f"status.{execution.field}: a plan that has ended has finishedAt; does the schema keep it?")
        wait = execution.until(plan["finishedAt"], retry_failed_after)
        if wanted is not None and wait > 0:
            return Progress("kept", plan, requeue_after=wait)
    former: StoredPlan = copy_json(plan)
    if wanted is not None:
        return await execution.begin(wanted, "created", former)
    await execution.scope.store(execution.field, None)
    return Progress("cleared", former=former)


@dataclass(frozen=True, slots=True)
class _Execution:
    """One call of :func:`execute`. Every flush replaces the dicts of the object: they are looked up anew each time."""

    api: Api
    scope: StatusScope
    field: str
    phase_field: str
    types: dict[str, type[Task]]

    @property
    def plan(self) -> StoredPlan | None:
        return read_plan(self.scope.get(self.field), f"status.{self.field}")

    def until(self, moment: str | None, after: float = 0.0) -> float:
        """Return the seconds until ``after`` seconds past ``moment``; zero or less when that has passed."""
        return seconds(moment) + after - seconds(self.api.now()) if moment else 0.0

    async def begin(
        self, wanted: Plan, action: Literal["created", "superseded"], former: StoredPlan | None = None
    ) -> Progress:
        """Store a new plan, and execute nothing: a plan must be stored before its first task."""
        await self.scope.store(self.field, wanted.begin(self.api.uuid()))
        return Progress(action, self.plan, former, AT_ONCE)

    async def advance(self) -> Progress:
        """Continue the active plan until a task has to wait, or the plan has ended."""
        while True:
            plan = self.plan
            assert plan is not None  # it was active, and this reconcile is the only one to change it
            index = next((at for at, task in enumerate(plan["tasks"]) if task["status"] != COMPLETE), None)
            if index is None:
                self._end(plan, COMPLETE, plan["targetPhase"])
                return Progress("completed", plan, requeue_after=AT_ONCE)
            wait = await self._step(index)
            plan = self.plan
            assert plan is not None
            if plan["phase"] == FAILED:
                return Progress("failed", plan, requeue_after=AT_ONCE)
            if wait is not None:
                await self._store()
                return Progress("waiting", self.plan, requeue_after=wait)

    async def _step(self, index: int) -> float | None:
        """Continue one task. Returns the seconds to wait for it, None when it has ended."""
        stored = self._task(index)
        wait = self.until(stored.get("notBefore"))
        if wait > 0:
            return wait
        try:
            task = make_task(self.types, stored["type"], stored["params"])
            run = Run(self.api, self.scope, stored["id"], stored["retryCount"])
            if "submittedAt" not in stored:
                await self._begin_task(index)
                await self._command(task, run, index)
            status = await task.status(run)
        except TerminalError as error:
            self._fail(index, str(error))
            return None
        except TaskFailed as error:
            return self._retry(index, str(error))
        stored = self._task(index)
        stored.pop("error", None)
        if status == COMPLETE:
            stored["status"] = COMPLETE
            return None
        return task.poll

    async def _begin_task(self, index: int) -> None:
        """Verify, just before a command, that the object still has the plan."""
        stored = self._task(index)
        if stored["status"] == RUNNING:
            await self.scope.check_fresh()
            return
        stored["status"] = RUNNING
        stored.pop("notBefore", None)
        await self._store()

    async def _store(self) -> None:
        """Store the progress of the plan, and verify that the server kept all of it: lost progress is repeated work."""
        await self.scope.store(self.field, self.scope.get(self.field))

    async def _command(self, task: Task, run: Run, index: int) -> None:
        try:
            await task.execute(run)
        except (TaskFailed, TerminalError):
            raise
        except Exception as error:
            self._task(index)["error"] = f"{type(error).__name__}: {error}"
            raise
        self._task(index)["submittedAt"] = self.api.now()

    def _retry(self, index: int, error: str) -> float | None:
        stored = self._task(index)
        if stored["retryCount"] >= stored["maxRetries"]:
            self._fail(index, error)
            return None
        stored["retryCount"] += 1
        stored["status"] = PENDING
        stored["error"] = error
        stored.pop("submittedAt", None)
        wait = retry_backoff(stored["retryCount"])
        stored["notBefore"] = rfc3339(seconds(self.api.now()) + wait)
        return wait

    def _fail(self, index: int, error: str) -> None:
        stored = self._task(index)
        stored["status"] = FAILED
        stored["error"] = error
        plan = self.plan
        assert plan is not None
        plan["failedTaskIndex"] = index
        plan["failedTaskDetail"] = {
            "type": stored["type"],
            "id": stored["id"],
            "error": error,
            "retryCount": stored["retryCount"],
            "maxRetries": stored["maxRetries"],
        }
        self._end(plan, FAILED, plan["failedPhase"])

    def _end(self, plan: StoredPlan, phase: str, object_phase: str) -> None:
        plan["phase"] = phase
        plan["finishedAt"] = self.api.now()
        if object_phase:
            self.scope.put(self.phase_field, object_phase)

    def _task(self, index: int) -> StoredTask:
        plan: Any = self.scope.get(self.field)
        task: StoredTask = plan["tasks"][index]
        return task
