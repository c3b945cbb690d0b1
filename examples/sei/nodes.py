"""Reconciles SeiNodes: a StatefulSet of one pod, a Service, a claim, and plans that bring it up and to new images."""

from __future__ import annotations

from typing import ClassVar

from kontend import (
    Api,
    ChildOutcome,
    Result,
    StatusScope,
    has_finalizer,
    mutate_object,
    mutate_status,
    remove_child,
    remove_finalizer,
    sync_child,
)
from kontend.plans import Plan, Progress, execute
from kontend.predicates import GenerationChanged, Predicate

from .lifecycle import Lifecycle
from .node_planner import is_update, plan_for
from .node_tasks import TASKS, bound
from .resources import (
    CLAIM,
    FINALIZER,
    NODE,
    SERVICE,
    STATEFUL_SET,
    Object,
    claim,
    imported_claim,
    node_service,
    stateful_set,
)
from .sidecar import Sidecar


class Nodes(Lifecycle):
    """Brings a SeiNode to the state that its spec describes."""

    kind = NODE
    owns = (STATEFUL_SET, SERVICE, CLAIM)
    # Its own status writes must not wake it up, nor shorten a backoff.
    predicates: ClassVar[dict[str, Predicate]] = {NODE: GenerationChanged()}
    name = "seinode-controller"

    def __init__(self, sidecar: Sidecar | None = None, *, poll: float | None = None) -> None:
        super().__init__(sidecar, poll=poll)
        self.tasks = bound(TASKS, sidecar=self.sidecar, poll=self.poll, sync=staticmethod(self.sync))

    async def converge(self, scope: StatusScope, api: Api) -> Result | None:
        """Synchronise the children, then begin or continue a plan. Everything is stored when the scope ends."""
        node = scope.obj
        paused = bool(node["spec"].get("paused"))
        scope.set_condition("Paused", paused, "PausedBySpec" if paused else "NotPaused")
        if scope.get("phase") == "Failed":
            return None
        synced = await self.keep(scope, api)
        if not synced.settled:
            return synced.result
        if paused:
            return None
        await self.probe(scope, api)
        progress = await self.advance(scope, plan_for(node), api)
        self.report(scope, progress)
        if progress.result is None and scope.get("phase") == "Running":
            return Result(requeue_after=30)
        return progress.result

    async def keep(self, scope: StatusScope, api: Api) -> ChildOutcome:
        """Synchronise the StatefulSet in every reconcile. The first one is created by a plan, after its claim."""
        return await self.sync(scope, api) if scope.get("statefulSet") is not None else ChildOutcome("applied")

    async def sync(self, scope: StatusScope, api: Api) -> ChildOutcome:
        """Bring the StatefulSet to the spec; a paused node has no pod."""
        paused = bool(scope.obj["spec"].get("paused"))
        return await sync_child(api, scope, stateful_set(scope.obj), field="statefulSet", paused=paused)

    async def advance(self, scope: StatusScope, wanted: Plan | None, api: Api) -> Progress:
        """Begin the wanted plan, or continue the one that the node has."""
        if wanted is not None and scope.get("phase") is None:
            scope.put("phase", "Initializing")
        return await execute(api, scope, wanted, tasks=self.tasks)

    async def probe(self, scope: StatusScope, api: Api) -> None:
        """Ask the sidecar of a running node how it is."""
        if scope.get("phase") != "Running":
            return
        metadata = scope.obj["metadata"]
        ready = await self.sidecar.ready(api, f"{metadata['namespace']}/{metadata['name']}")
        if ready is None:
            scope.set_condition("SidecarReady", "Unknown", "Unreachable")
        else:
            scope.set_condition("SidecarReady", ready, "Ready" if ready else "NotReady")

    def report(self, scope: StatusScope, progress: Progress) -> None:
        """Describe the progress of updates in conditions, and a running node by its endpoint."""
        plan = progress.plan or progress.former
        if plan is not None and is_update(plan["goal"]):
            active = plan["phase"] == "Active"
            reason = "UpdateStarted" if active else f"Update{plan['phase']}"
            scope.set_condition("NodeUpdateInProgress", active, reason)
        if scope.get("phase") == "Running":
            metadata = scope.obj["metadata"]
            scope.put("endpoint", f"{metadata['name']}.{metadata['namespace']}.svc:26657")

    async def finalize(self, node: Object, api: Api) -> Result | None:
        """Delete the children one after the other, the claim last, and release the node."""
        if not has_finalizer(node, FINALIZER):
            return None
        await mutate_status(api, node, lambda obj: obj["status"].update(phase="Terminating"))
        children = [("statefulSet", stateful_set(node)), ("service", node_service(node))]
        if not imported_claim(node):
            children.append(("dataVolume", claim(node)))
        async with StatusScope(api, node) as scope:
            for field, child in children:
                removed = await remove_child(api, scope, child, field=field)
                if removed.action not in ("removed", "released"):
                    return removed.result
            await mutate_object(api, scope, lambda obj: remove_finalizer(obj, FINALIZER))
        return None
