"""toolhive: a failure is recorded and overwritten in one reconcile.

Link: https://github.com/stacklok/toolhive/pull/3983
Archetype: A10

A reconcile that finds an invalid server stores the phase Failed. The summary at the end of the same reconcile
derives the phase from the pods, of which there are none, and stores Pending. Each write triggers the next
reconcile, and whoever looks sees one or the other.

Interleaving: store Failed -> store Pending -> the event triggers: store Failed -> store Pending -> ...

Fix: the summary leaves a failure alone.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"


class Servers(Controller):
    """Validates a server, then sums up its pods."""

    kind = SERVER
    keeps_failure = False

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        server["status"] = {"phase": "Failed"}  # the image of this server is refused
        await api.status.update(server)
        if not self.keeps_failure:
            server["status"] = {"phase": "Pending"}
            await api.status.update(server)


class Fixed(Servers):
    name = "servers"
    keeps_failure = True


buggy = Scenario(
    controllers=[Servers()],
    crds=[permissive_crd(SERVER)],
    objects=[new_object(SERVER, "s", spec={"image": "?"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
