"""The operator of groups as it was: each class is a small difference from :class:`Groups`."""

from __future__ import annotations

from dataclasses import dataclass

from kontend import Api, NotFound, StatusScope
from kontend.plans import Progress, Run, TaskStatus, execute

from .group_tasks import GROUP_TASKS, AwaitNodesRunning
from .groups import Groups
from .node_tasks import bound
from .resources import NODE, template_hash
from .sidecar import Sidecar


class EarlyHash(Groups):
    """#81: a rollout is noted by one reconcile and planned by the next; in between, its hash is recorded."""

    name = Groups.name

    async def roll_out(self, scope: StatusScope, api: Api) -> Progress:
        """Note a rollout; the guard of the hash looks only at the plan, and there is none yet."""
        target = template_hash(scope.obj)
        if scope.get("templateHash") == target:
            return await execute(api, scope, None, tasks=self.tasks)
        scope.put("rollout", self.rollout(scope, target, api))
        scope.put("templateHash", target)
        return Progress("idle", requeue_after=0.001)


class UpdatesIncumbents(Groups):
    """Before #149: the reconcile that detects a rollout has already brought the nodes to the new template."""

    name = Groups.name

    async def roll_out(self, scope: StatusScope, api: Api) -> Progress:
        """Keep the nodes as the template says, unless a plan is in progress."""
        if scope.get("plan") is None:
            await self.ensure_nodes(scope, api)
        return await super().roll_out(scope, api)


@dataclass(frozen=True)
class AwaitCachedNodes(AwaitNodesRunning):
    """Compares spec and status of cached nodes with each other: both may be as they were before the change."""

    type = AwaitNodesRunning.type

    async def status(self, run: Run) -> TaskStatus:
        for name in self.names(run):
            try:
                node = await run.api.get(NODE, f"{run.obj['metadata']['namespace']}/{name}")
            except NotFound:
                return "Running"
            if (node.get("status") or {}).get("currentImage") != node["spec"]["image"]:
                return "Running"
        return "Complete"


class CachedAwait(Groups):
    """Before #149: the end of a rollout is read from the cache."""

    name = Groups.name

    def __init__(self, sidecar: Sidecar | None = None, *, poll: float | None = None) -> None:
        super().__init__(sidecar, poll=poll)
        tasks = [AwaitCachedNodes if task is AwaitNodesRunning else task for task in GROUP_TASKS]
        self.tasks = bound(tasks, sidecar=self.sidecar, poll=self.poll)
