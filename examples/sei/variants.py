"""The node operator as it was: each class is a small difference from :class:`Nodes`, and each has a bug that was real.

``Upstream`` is the shape of the original: one snapshot of the object, everything in memory, one locked patch when
the reconcile has succeeded. The others change one more thing. ``README.md`` says what the explorer finds.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from types import TracebackType
from typing import Any, ClassVar

from kontend import (
    Api,
    ChildOutcome,
    NotFound,
    StatusScope,
    merge_from,
    new_object,
    set_controller_reference,
)
from kontend.plans import Plan, Progress

from .node_tasks import TASKS, bound
from .nodes import Nodes
from .resources import NODE, STATEFUL_SET, Object, stateful_set
from .sidecar import Sidecar


class OnePatch(StatusScope):
    """Keeps everything in memory and sends one locked patch at the end, if the reconcile has succeeded."""

    lock: ClassVar[bool] = True

    def __init__(self, api: Api, obj: Object) -> None:
        super().__init__(api, obj)
        self.before = deepcopy(obj)

    async def store(self, path: str, value: Any) -> None:
        """Set a value in memory."""
        self.put(path, value)

    async def flush(self) -> bool:
        """Send nothing yet."""
        return False

    async def check_fresh(self) -> None:
        """Trust the cache."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and (self.obj.get("status") or {}) != (self.before.get("status") or {}):
            await self.send()

    async def send(self) -> None:
        """Send the difference between the snapshot and the object in memory."""
        await self.api.status.patch(self.obj, merge_from(self.before, lock=self.lock))


class BlindPatch(OnePatch):
    """Without the lock: whatever others have written since the snapshot is overwritten."""

    lock = False


class BlindApply(OnePatch):
    """Server-side apply with force: no lock either."""

    async def send(self) -> None:
        """Apply the whole status."""
        metadata = self.obj["metadata"]
        wanted = new_object(NODE, metadata["name"], namespace=metadata["namespace"], status=self.obj["status"])
        await self.api.status.apply(wanted, force=True)


# -- the StatefulSet, from V0 to V3


class Upstream(Nodes):
    """V3, after #348: the set is synchronised by every reconcile and by a task of the plan, which does not track it."""

    name = Nodes.name
    scope = OnePatch

    def __init__(self, sidecar: Sidecar | None = None, *, poll: float | None = None) -> None:
        super().__init__(sidecar, poll=poll)
        self.tasks = bound(TASKS, sidecar=self.sidecar, poll=self.poll, sync=staticmethod(self.sync))

    async def keep(self, scope: StatusScope, api: Api) -> ChildOutcome:
        """Synchronise the set before anything else, and track what the server answered."""
        synced = await self.sync(scope, api)
        if synced.child is not None:
            scope.put("statefulSet", {name: synced.child["metadata"][name] for name in ("name", "uid")})
        # An impostor was deleted: the plan goes on, and its task creates the set.
        return ChildOutcome("applied", synced.child)

    async def sync(self, scope: StatusScope, api: Api) -> ChildOutcome:
        """Delete an impostor and come back later, or apply the set."""
        tracked = scope.get("statefulSet")
        if tracked is not None:
            try:
                live = await api.get(STATEFUL_SET, self.key(scope.obj))
            except NotFound:
                pass
            else:
                if live["metadata"]["uid"] != tracked["uid"]:
                    return await self.replace(scope, live, api)
        return ChildOutcome("applied", await api.apply(self.desired(scope.obj)))

    async def replace(self, scope: StatusScope, live: Object, api: Api) -> ChildOutcome:
        """Delete an impostor by name, and forget the set that was tracked."""
        with suppress(NotFound):
            await api.delete(live)
        scope.put("statefulSet", None)
        return ChildOutcome("replacing")

    def key(self, node: Object) -> str:
        """Return ``namespace/name``."""
        return f"{node['metadata']['namespace']}/{node['metadata']['name']}"

    def desired(self, node: Object) -> Object:
        """Return the set that a node should have."""
        wanted = stateful_set(node)
        wanted["metadata"]["namespace"] = node["metadata"]["namespace"]
        set_controller_reference(node, wanted)
        if node["spec"].get("paused"):
            wanted["spec"]["replicas"] = 0
        return wanted


class KeepsTracking(Upstream):
    """V2, #345: the impostor is deleted, and the status goes on tracking its predecessor."""

    name = Nodes.name

    async def replace(self, scope: StatusScope, live: Object, api: Api) -> ChildOutcome:  # noqa: ARG002
        """Delete an impostor by name."""
        await api.delete(live)
        return ChildOutcome("replacing")


class TypedUpdate(Upstream):
    """V1, the first draft of #345: get, compare, update. What the server has defaulted differs every time."""

    name = Nodes.name

    async def sync(self, scope: StatusScope, api: Api) -> ChildOutcome:
        """Create the set, replace an impostor at once, or update what differs."""
        wanted, tracked = self.desired(scope.obj), scope.get("statefulSet")
        try:
            live = await api.get(STATEFUL_SET, self.key(scope.obj))
        except NotFound:
            return ChildOutcome("created", await api.create(wanted))
        if tracked is not None and live["metadata"]["uid"] != tracked["uid"]:
            await api.delete(live)
            return ChildOutcome("recreated", await api.create(wanted))
        if any(live["spec"].get(name) != wanted["spec"][name] for name in ("replicas", "template", "updateStrategy")):
            live["spec"].update(wanted["spec"])
            await api.update(live)
        return ChildOutcome("applied", live)


class OnlyTheTask(Upstream):
    """V0: only the plan applies the set. A node that runs is not paused, and a set that is gone stays away."""

    name = Nodes.name

    async def keep(self, scope: StatusScope, api: Api) -> ChildOutcome:  # noqa: ARG002
        """Do nothing."""
        return ChildOutcome("applied")


# -- the status and the plan


class Blind(Upstream):
    """Before #149: status patches without a lock."""

    name = Nodes.name
    scope = BlindPatch


class Applied(Upstream):
    """Status by server-side apply, with force."""

    name = Nodes.name
    scope = BlindApply


class ExecutesBeforePersisting(Upstream):
    """#90, for one day: the plan is executed by the reconcile that makes it, before it is stored."""

    name = Nodes.name

    async def advance(self, scope: StatusScope, wanted: Plan | None, api: Api) -> Progress:
        """Begin a plan and go on with it."""
        progress = await super().advance(scope, wanted, api)
        return await super().advance(scope, wanted, api) if progress.action == "created" else progress
