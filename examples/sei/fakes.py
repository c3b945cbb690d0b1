"""Stand-ins for what the explorer should not explore in full: sidecars, the StatefulSet controller, other operators."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from kontend import AlreadyExists, Api, Controller, NotFound, Request, new_object

from .resources import NODE, STATEFUL_SET
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


class StatefulSets(Controller):
    """The StatefulSet controller in one write: it has observed the newest generation and replaced all pods."""

    kind = STATEFUL_SET
    name = "statefulset-controller"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report a set as rolled out."""
        try:
            live = await api.live.get(STATEFUL_SET, request)
        except NotFound:
            return
        replicas, generation = live["spec"]["replicas"], live["metadata"]["generation"]
        wanted = {"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas}
        wanted |= {"currentRevision": f"r{generation}", "updateRevision": f"r{generation}"}
        status = live.get("status") or {}
        if any(status.get(name) != value for name, value in wanted.items()):
            live["status"] = {**status, **wanted}
            await api.status.update(live)


class RunningNodes(Controller):
    """The operator of nodes in one write: a node runs the image of its spec."""

    kind = NODE
    name = "seinode-controller"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report a node as running."""
        try:
            node = await api.live.get(NODE, request)
        except NotFound:
            return
        wanted = {"phase": "Running", "currentImage": node["spec"]["image"]}
        if node.get("status") != wanted:
            node["status"] = wanted
            await api.status.update(node)
