"""Stand-ins for what the explorer should not explore in full: sidecars, the StatefulSet controller, other operators."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from kontend import AlreadyExists, Api, Controller, NotFound, Request, new_object

from .resources import NODE, STATEFUL_SET, Object
from .sidecar import TaskResult

RECORD: Final = "ConfigMap/v1"


class RecordedSidecar:
    """A sidecar whose memory is in the cluster: a ConfigMap for each task, so that states contain it."""

    async def submit(self, api: Api, node: str, task_id: str, command: str, params: dict[str, Any]) -> None:
        """Record a task; it is complete at once."""
        namespace, _, name = node.partition("/")
        data = {"node": name, "command": command, **{key: str(value) for key, value in params.items()}}
        with suppress(AlreadyExists):
            await api.create(new_object(RECORD, task_id, namespace=namespace, data=data))

    async def result(self, api: Api, node: str, task_id: str) -> TaskResult:
        """Return that a recorded task is complete."""
        try:
            await api.live.get(RECORD, f"{node.partition('/')[0]}/{task_id}")
        except NotFound:
            return TaskResult("Running")
        return TaskResult("Completed")

    async def ready(self, api: Api, node: str) -> bool | None:  # noqa: ARG002
        """Return True."""
        return True

    async def caught_up(self, api: Api, node: str) -> bool:  # noqa: ARG002
        """Return True."""
        return True


class Reports(Controller):
    """Another controller in one write: it reports the status that follows from the spec."""

    def status(self, obj: Object) -> Object:
        """Return the status that an object should have."""
        raise NotImplementedError

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report the status."""
        try:
            live = await api.live.get(self.kind, request)
        except NotFound:
            return
        wanted = self.status(live)
        if live.get("status") != wanted:
            live["status"] = wanted
            await api.status.update(live)


class StatefulSets(Reports):
    """The StatefulSet controller: it has observed the newest generation and replaced all pods."""

    kind = STATEFUL_SET
    name = "statefulset-controller"

    def status(self, obj: Object) -> Object:
        """Return the status of a set that is rolled out."""
        replicas, generation = obj["spec"]["replicas"], obj["metadata"]["generation"]
        return {
            **(obj.get("status") or {}),
            "observedGeneration": generation,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "currentRevision": f"r{generation}",
            "updateRevision": f"r{generation}",
        }


class RunningNodes(Reports):
    """The operator of nodes: a node runs the image of its spec."""

    kind = NODE
    name = "seinode-controller"

    def status(self, obj: Object) -> Object:
        """Return the status of a node that runs."""
        return {"phase": "Running", "currentImage": obj["spec"]["image"]}
