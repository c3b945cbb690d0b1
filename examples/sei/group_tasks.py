"""The steps of a rollout of a group of nodes. They read nodes from the server: a cached one may be as it was before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar

from kontend import NotFound, is_controlled_by, remove_child, sync_child
from kontend.plans import Run, Task, TaskFailed, TaskStatus

from .resources import GROUP_LABEL, NODE, REVISION_LABEL, Object, group_node, group_service
from .sidecar import Sidecar


def node_names(group: Object, revision: str, replicas: int) -> list[str]:
    """Return the names of the nodes of a revision."""
    return [f"{group['metadata']['name']}-{revision}-{ordinal}" for ordinal in range(replicas)]


@dataclass(frozen=True)
class RevisionTask(Task):
    """A step for the nodes of one revision; their number is that of the time when the plan was made."""

    revision: str
    replicas: int

    def names(self, run: Run) -> list[str]:
        """Return the names of the nodes."""
        return node_names(run.obj, self.revision, self.replicas)

    async def nodes(self, run: Run) -> AsyncIterator[Object | None]:
        """Yield the nodes as the server has them."""
        for name in self.names(run):
            try:
                yield await run.api.live.get(NODE, f"{run.obj['metadata']['namespace']}/{name}")
            except NotFound:
                yield None


@dataclass(frozen=True)
class ApplyNodes(RevisionTask):
    """Creates the nodes of a revision, or brings them to the template in place."""

    async def status(self, run: Run) -> TaskStatus:
        for name in self.names(run):
            wanted = group_node(run.obj, name, self.revision)
            if not (await sync_child(run.api, run.scope, wanted, field=f"nodes.{name}")).settled:
                return "Running"
        return "Complete"


@dataclass(frozen=True)
class AwaitNodesRunning(RevisionTask):
    """Waits until all nodes run the image: as their spec says, and as their operator has recorded."""

    image: str

    async def status(self, run: Run) -> TaskStatus:
        async for node in self.nodes(run):
            status = (node or {}).get("status") or {}
            if status.get("phase") == "Failed":
                raise TaskFailed(f"node {(node or {})['metadata']['name']} has failed")
            images = (((node or {}).get("spec") or {}).get("image"), status.get("currentImage"))
            if status.get("phase") != "Running" or images != (self.image, self.image):
                return "Running"
        return "Complete"


@dataclass(frozen=True)
class AwaitNodesCaughtUp(RevisionTask):
    """Waits until all nodes have the newest block."""

    sidecar: ClassVar[Sidecar]

    async def status(self, run: Run) -> TaskStatus:
        for name in self.names(run):
            if not await self.sidecar.caught_up(run.api, f"{run.obj['metadata']['namespace']}/{name}"):
                return "Running"
        return "Complete"


@dataclass(frozen=True)
class SwitchTraffic(Task):
    """Sends the traffic to a revision. The status changes in the same patch that ends the task, and in no other."""

    revision: str

    async def execute(self, run: Run) -> None:
        await sync_child(run.api, run.scope, group_service(run.obj, self.revision), field="service")
        run.obj["status"]["revision"] = self.revision


@dataclass(frozen=True)
class TeardownNodes(Task):
    """Deletes the nodes of all other revisions: those of the incumbents, and of rollouts that were superseded."""

    revision: str

    async def status(self, run: Run) -> TaskStatus:
        gone = True
        for node in await group_nodes(run):
            if node["metadata"]["labels"].get(REVISION_LABEL) != self.revision:
                removed = await remove_child(run.api, run.scope, node, field=f"nodes.{node['metadata']['name']}")
                gone = gone and removed.action in ("removed", "released")
        if gone:
            kept = f"{run.obj['metadata']['name']}-{self.revision}-"
            for name in [name for name in run.scope.get("nodes") or {} if not name.startswith(kept)]:
                run.scope.put(f"nodes.{name}", None)
        return "Complete" if gone else "Running"


@dataclass(frozen=True)
class RecordRollout(Task):
    """Records that the template is rolled out, last: what is recorded as observed has been acted on."""

    template_hash: str

    async def execute(self, run: Run) -> None:
        run.obj["status"]["templateHash"] = self.template_hash
        run.obj["status"].pop("rollout", None)


async def group_nodes(run: Run) -> list[Object]:
    """Return the nodes that a group controls, from the server."""
    metadata = run.obj["metadata"]
    labels = {GROUP_LABEL: metadata["name"]}
    nodes = await run.api.live.list(NODE, namespace=metadata["namespace"], labels=labels)
    return [node for node in nodes if is_controlled_by(node, run.obj)]


GROUP_TASKS: tuple[type[Task], ...] = (
    ApplyNodes,
    AwaitNodesRunning,
    AwaitNodesCaughtUp,
    SwitchTraffic,
    TeardownNodes,
    RecordRollout,
)
