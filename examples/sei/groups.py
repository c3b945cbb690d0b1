"""Reconciles SeiNodeDeployments: groups of equal nodes, whose template is rolled out in place or blue-green."""

from __future__ import annotations

from typing import ClassVar

from kontend import (
    Api,
    Result,
    StatusScope,
    has_finalizer,
    is_controlled_by,
    mutate_object,
    mutate_status,
    remove_child,
    remove_finalizer,
    remove_owner_reference,
    sync_child,
)
from kontend.plans import Plan, Progress, Task, execute
from kontend.predicates import Event, GenerationChanged, Predicate, Where

from .group_tasks import (
    GROUP_TASKS,
    ApplyNodes,
    AwaitNodesCaughtUp,
    AwaitNodesRunning,
    RecordRollout,
    SwitchTraffic,
    TeardownNodes,
    node_names,
)
from .lifecycle import Lifecycle
from .node_tasks import bound
from .resources import (
    FINALIZER,
    GROUP,
    GROUP_LABEL,
    NODE,
    SERVICE,
    Object,
    group_node,
    group_service,
    template_hash,
)
from .sidecar import Sidecar


def _node_changed(event: Event) -> bool:
    """Return True unless only details of a node's status have changed, which must not shorten a backoff."""
    if event.old is None or event.new is None:
        return True
    return _relevant(event.old) != _relevant(event.new)


def _relevant(node: Object) -> tuple[object, ...]:
    status, metadata = node.get("status") or {}, node["metadata"]
    deleted = metadata.get("deletionTimestamp")
    return metadata.get("generation"), deleted, status.get("phase"), status.get("currentImage")


class Groups(Lifecycle):
    """Brings a SeiNodeDeployment to the state that its spec describes."""

    kind = GROUP
    owns = (NODE, SERVICE)
    predicates: ClassVar[dict[str, Predicate]] = {GROUP: GenerationChanged(), NODE: Where(_node_changed)}
    name = "seinodedeployment-controller"

    def __init__(self, sidecar: Sidecar | None = None, *, poll: float | None = None) -> None:
        super().__init__(sidecar, poll=poll)
        self.tasks = bound(GROUP_TASKS, sidecar=self.sidecar, poll=self.poll)

    async def converge(self, scope: StatusScope, api: Api) -> Result | None:
        """Begin or continue a rollout; otherwise keep the nodes as the template says."""
        group = scope.obj
        paused = bool(group["spec"].get("paused"))
        scope.set_condition("Paused", paused, "PausedBySpec" if paused else "NotPaused")
        if scope.get("templateHash") is None:  # recorded before the first node exists: a later change is a rollout
            scope.put("templateHash", template_hash(group))
            scope.put("revision", str(group["metadata"]["generation"]))
            await scope.flush()
        result: Result | None = None
        if paused:
            await self.pause_nodes(scope, api)
        else:
            progress = await self.roll_out(scope, api)
            result = progress.result
            if progress.plan is None:
                result = await self.ensure_nodes(scope, api) or result
        await self.report(scope, api)
        return result

    async def roll_out(self, scope: StatusScope, api: Api) -> Progress:
        """Begin a rollout, continue one, or supersede it. Plan and rollout are stored in one patch."""
        target = template_hash(scope.obj)
        rollout = scope.get("rollout")
        if rollout is None and scope.get("templateHash") == target:
            return await execute(api, scope, None, tasks=self.tasks)
        if rollout is None or rollout["targetHash"] != target:
            scope.put("rollout", self.rollout(scope, target, api))
        return await execute(api, scope, self.plan(scope.obj), tasks=self.tasks)

    def rollout(self, scope: StatusScope, target: str, api: Api) -> Object:
        """Return a new rollout; blue-green has entrants, in place changes the incumbents."""
        strategy = scope.obj["spec"]["updateStrategy"]["type"]
        incumbent = scope.get("revision")
        return {
            "strategy": strategy,
            "targetHash": target,
            "startedAt": api.now(),
            "incumbentRevision": incumbent,
            "entrantRevision": str(scope.generation) if strategy == "BlueGreen" else incumbent,
        }

    def plan(self, group: Object) -> Plan:
        """Return the plan of the current rollout."""
        rollout, spec = group["status"]["rollout"], group["spec"]
        revision, replicas = rollout["entrantRevision"], spec["replicas"]
        steps: list[Task] = [
            ApplyNodes(revision, replicas),
            AwaitNodesRunning(revision, replicas, spec["template"]["spec"]["image"]),
        ]
        if rollout["strategy"] == "BlueGreen":
            steps += [AwaitNodesCaughtUp(revision, replicas), SwitchTraffic(revision)]
        steps += [TeardownNodes(revision), RecordRollout(rollout["targetHash"])]
        return Plan(steps, goal=rollout["targetHash"])

    async def ensure_nodes(self, scope: StatusScope, api: Api) -> Result | None:
        """Keep one node for each ordinal, and the Service in front of them."""
        group, revision = scope.obj, scope.get("revision")
        await sync_child(api, scope, group_service(group, revision), field="service")
        names = node_names(group, revision, group["spec"]["replicas"])
        result: Result | None = None
        for name in names:
            synced = await sync_child(api, scope, group_node(group, name, revision), field=f"nodes.{name}")
            result = synced.result or result
        for name in sorted(set(scope.get("nodes") or {}) - set(names)):
            removed = await remove_child(api, scope, group_node(group, name, revision), field=f"nodes.{name}")
            result = removed.result or result
        return result

    async def pause_nodes(self, scope: StatusScope, api: Api) -> None:
        """Pause all nodes of the group, those of an unfinished rollout too."""
        for node in await self.nodes(scope.obj, api):
            await mutate_object(api, node, lambda obj: obj["spec"].update(paused=True))

    async def nodes(self, group: Object, api: Api) -> list[Object]:
        """Return the nodes that the group controls."""
        metadata = group["metadata"]
        nodes = await api.list(NODE, namespace=metadata["namespace"], labels={GROUP_LABEL: metadata["name"]})
        return [node for node in nodes if is_controlled_by(node, group)]

    async def report(self, scope: StatusScope, api: Api) -> None:
        """Count the nodes, and derive the phase from what is stored elsewhere in the status."""
        wanted = scope.obj["spec"]["replicas"]
        names = node_names(scope.obj, scope.get("revision"), wanted)
        nodes = {node["metadata"]["name"]: node.get("status") or {} for node in await self.nodes(scope.obj, api)}
        ready = sum(nodes.get(name, {}).get("phase") == "Running" for name in names)
        scope.put("replicas", len(nodes))
        scope.put("readyReplicas", ready)
        rolling, plan = scope.get("rollout") is not None, scope.get("plan") or {}
        if not rolling:
            scope.put("observedGeneration", scope.generation)
        degraded = plan.get("phase") == "Failed"
        phase = "Degraded" if degraded else "Upgrading" if rolling else "Ready" if ready == wanted else "Initializing"
        scope.put("phase", phase)
        scope.set_condition("NodesReady", ready == wanted, "AllRunning" if ready == wanted else "Waiting")
        reason = "RolloutFailed" if degraded else "RolloutStarted" if rolling else "NoRollout"
        scope.set_condition("RolloutInProgress", rolling, reason)

    async def finalize(self, group: Object, api: Api) -> Result | None:
        """Delete the nodes and wait for them, or let go of them, and release the group."""
        if not has_finalizer(group, FINALIZER):
            return None
        await mutate_status(api, group, lambda obj: obj["status"].update(phase="Terminating"))
        metadata = group["metadata"]
        nodes = await api.live.list(NODE, namespace=metadata["namespace"], labels={GROUP_LABEL: metadata["name"]})
        for node in nodes:
            if not is_controlled_by(node, group):
                continue
            if group["spec"]["deletionPolicy"] == "Retain":
                await mutate_object(api, node, lambda obj: remove_owner_reference(group, obj))
                continue
            if not node["metadata"].get("deletionTimestamp"):
                await api.delete(node, uid=node["metadata"]["uid"])
            return Result(requeue_after=self.poll)
        await mutate_object(api, group, lambda obj: remove_finalizer(obj, FINALIZER))
        return None
