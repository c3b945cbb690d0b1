"""The steps of a node's plans. Each may run again after a crash, under the same id, without a second effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from kontend import (
    AlreadyExists,
    Api,
    ChildOutcome,
    NotFound,
    StatusScope,
    is_controlled_by,
    set_controller_reference,
    sync_child,
)
from kontend.plans import Run, Task, TaskFailed, TaskStatus, TerminalError

from .resources import CLAIM, POD, STATEFUL_SET, claim, imported_claim, node_service, sidecar_image
from .sidecar import Sidecar


def key(run: Run) -> str:
    """Return ``namespace/name`` of the object that has the plan."""
    metadata = run.obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


@dataclass(frozen=True)
class EnsureDataVolume(Task):
    """Creates the claim of a node. A claim of that name that belongs to somebody else is never mounted."""

    async def execute(self, run: Run) -> None:
        if imported_claim(run.obj):
            return
        wanted = claim(run.obj)
        set_controller_reference(run.obj, wanted)
        try:
            created = await run.api.create(wanted)
        except AlreadyExists:
            created = await run.api.live.get(CLAIM, f"{wanted['metadata']['namespace']}/{wanted['metadata']['name']}")
            if not is_controlled_by(created, run.obj):
                raise TerminalError(f"the claim {created['metadata']['name']} belongs to somebody else") from None
        run.obj["status"]["dataVolume"] = {name: created["metadata"][name] for name in ("name", "uid")}


@dataclass(frozen=True)
class ApplyStatefulSet(Task):
    """Brings the StatefulSet to the spec of the node, as every reconcile does, and waits until that is done."""

    #: The function of the operator that synchronises the set.
    sync: ClassVar[Callable[[StatusScope, Api], Awaitable[ChildOutcome]]]

    async def status(self, run: Run) -> TaskStatus:
        return "Complete" if (await type(self).sync(run.scope, run.api)).settled else "Running"


@dataclass(frozen=True)
class ApplyService(Task):
    """Brings the Service of the node to its spec."""

    async def execute(self, run: Run) -> None:
        await sync_child(run.api, run.scope, node_service(run.obj), field="service")


@dataclass(frozen=True)
class ReplacePod(Task):
    """Deletes the pods of former revisions of the StatefulSet, which is all that its update strategy waits for.

    The set and the pods are read from the server: the cache may have both as they were before the apply, complete in
    every respect. Deletes carry the uid of the pod that was read.
    """

    async def status(self, run: Run) -> TaskStatus:
        try:
            live = await run.api.live.get(STATEFUL_SET, key(run))
        except NotFound:
            return "Running"
        status = live.get("status") or {}
        if status.get("observedGeneration", 0) < live["metadata"]["generation"] or not status.get("updateRevision"):
            return "Running"
        if status.get("currentRevision") == status["updateRevision"]:
            return "Complete"
        pods = await run.api.live.list(
            POD, namespace=run.obj["metadata"]["namespace"], labels=live["spec"]["selector"]["matchLabels"]
        )
        for pod in pods:
            former = pod["metadata"]["labels"].get("controller-revision-hash") != status["updateRevision"]
            if former and is_controlled_by(pod, live) and not pod["metadata"].get("deletionTimestamp"):
                await run.api.delete(pod, uid=pod["metadata"]["uid"])
        return "Complete"


@dataclass(frozen=True)
class ObserveImage(Task):
    """Waits until the StatefulSet has rolled out an image, and records it. The set is read from the server."""

    image: str

    async def status(self, run: Run) -> TaskStatus:
        try:
            live = await run.api.live.get(STATEFUL_SET, key(run))
        except NotFound:
            return "Running"
        status, spec = live.get("status") or {}, live["spec"]
        if status.get("observedGeneration", 0) < live["metadata"]["generation"]:
            return "Running"
        image = spec["template"]["spec"]["containers"][0]["image"]
        if image != self.image or status.get("updatedReplicas", 0) < spec.get("replicas", 1):
            return "Running"
        run.obj["status"]["currentImage"] = self.image
        run.obj["status"]["currentSidecarImage"] = sidecar_image(run.obj)
        return "Complete"


@dataclass(frozen=True)
class SidecarTask(Task):
    """Has the sidecar do something, once: the id of the task makes the submission idempotent."""

    sidecar: ClassVar[Sidecar]

    async def execute(self, run: Run) -> None:
        await self.sidecar.submit(run.api, key(run), run.id, self.type, self.params())

    async def status(self, run: Run) -> TaskStatus:
        result = await self.sidecar.result(run.api, key(run), run.id)
        if result.outcome == "Failed":
            raise TaskFailed(result.error)
        return "Complete" if result.outcome == "Completed" else "Running"


@dataclass(frozen=True)
class ConfigApply(SidecarTask):
    """Writes the configuration of a new node."""

    chain_id: str
    mode: str
    max_retries: ClassVar[int] = 3


@dataclass(frozen=True)
class ConfigPatch(SidecarTask):
    """Adapts the configuration to a new image."""

    image: str


@dataclass(frozen=True)
class ConfigValidate(SidecarTask):
    """Has the configuration checked."""


@dataclass(frozen=True)
class MarkReady(SidecarTask):
    """Lets the node serve requests."""


TASKS: tuple[type[Task], ...] = (
    EnsureDataVolume,
    ApplyStatefulSet,
    ApplyService,
    ReplacePod,
    ObserveImage,
    ConfigApply,
    ConfigPatch,
    ConfigValidate,
    MarkReady,
)


def bound(tasks: Iterable[type[Task]], **attributes: Any) -> list[type[Task]]:
    """Return the classes with attributes of their operator: its sidecar, the seconds between two queries."""
    return [type(task.__name__, (task,), {"type": task.type, **attributes}) for task in tasks]
