"""toolhive: a status update that conflicts is logged and forgotten.

Link: https://github.com/stacklok/toolhive/issues/4633
Archetype: A5

Many reconciles of the operator end with a status update whose error is logged and dropped. When another writer
has changed the status since it was read, the update is refused. The reconcile ends without an error, and since
only changes of the spec trigger it, nobody tries again: the phase that it computed is never stored.

Interleaving: operator reads v1 -> reporter writes the status, v2 -> operator updates the status with v1: 409,
logged

Fix: return the error, so that the request is queued again.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Conflict, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"


class Servers(Controller):
    """Stores the phase of a server."""

    kind = SERVER
    predicates = {SERVER: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        server.setdefault("status", {})["phase"] = "Ready"
        with suppress(Conflict):  # log.Error(err, "failed to update status")
            await api.status.update(server)


class Reporter(Controller):
    """Runs in the workload and stores what it discovered."""

    kind = SERVER
    predicates = {SERVER: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.live.get(SERVER, request)
        server.setdefault("status", {})["backendCount"] = 1
        await api.status.update(server)


class Fixed(Servers):
    name = "servers"

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        server.setdefault("status", {})["phase"] = "Ready"
        await api.status.update(server)


buggy = Scenario(
    controllers=[Servers(), Reporter()],
    crds=[permissive_crd(SERVER)],
    objects=[new_object(SERVER, "s", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Reporter()])
