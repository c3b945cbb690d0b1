"""toolhive: members of a deleted group never learn of it.

Link: https://github.com/stacklok/toolhive/blob/main/cmd/thv-operator/controllers/mcpgroup_controller.go
Archetype: A5

When an MCPGroup is deleted, its controller lists the members from the cache and updates the status of each one,
to say that the group is gone. A member that has changed since is refused with a conflict; the error is logged,
the loop goes on, and the finalizer is removed. Nobody sets the condition any more.

Interleaving: controller lists member v1 -> the member changes, v2 -> update of v1: 409, logged -> finalizer
removed

Fix: return the error before the finalizer is removed, so that the deletion is handled again.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Conflict, Controller, Guards, NotFound, Request, new_object, set_condition
from kontend.explore import Scenario, delete, update
from kontend.testing import permissive_crd

GROUP = "MCPGroup.toolhive.stacklok.dev/v1"
SERVER = "MCPServer.toolhive.stacklok.dev/v1"


class Groups(Controller):
    """Tells the members of a group that it is being deleted."""

    kind = GROUP
    watches = {SERVER: lambda server, cache: ["default/g"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            group = await api.get(GROUP, request)
        except NotFound:
            return
        if not group["metadata"].get("deletionTimestamp"):
            return
        for server in await api.list(SERVER, namespace=request.namespace):
            set_condition(server, "GroupRefValidated", False, "GroupNotFound", now="2026-01-01T00:00:00Z")
            await self.store(server, api)
        group["metadata"]["finalizers"] = []
        await api.update(group)

    async def store(self, server: dict[str, object], api: Api) -> None:
        with suppress(Conflict):  # log.Error(err, "Failed to update MCPServer status")
            await api.status.update(server)


class Fixed(Groups):
    name = "groups"

    async def store(self, server: dict[str, object], api: Api) -> None:
        await api.status.update(server)


group = new_object(GROUP, "g", finalizers=["toolhive.stacklok.dev/mcpgroup"])
server = new_object(SERVER, "s", spec={"groupRef": "g", "image": "s:1"})
buggy = Scenario(
    controllers=[Groups()],
    crds=[permissive_crd(GROUP), permissive_crd(SERVER)],
    objects=[group, server],
    actions=[update(server, spec={"image": "s:2"}), delete(group)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
