"""toolhive: the reporter claims to have observed a spec that it has not looked at.

Link: https://github.com/stacklok/toolhive/blob/main/pkg/vmcp/status/k8s_reporter.go
Archetype: A8

The reporter discovers the backends of a server with the spec that it has in hand, then reads the server once more from
the API server to write its status, and stamps observedGeneration with the generation of that. If the spec has changed
in between, the status says that the backends are those of the new spec.

Interleaving: read group a, discover its backends -> the group changes to b -> read again: generation 2 -> write the
backends of a as those of generation 2

Fix: stamp the generation of the spec that the backends were computed from.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

SERVER = "VirtualMCPServer.toolhive.stacklok.dev/v1"


class Reporters(Controller):
    """Reports the backends of a server."""

    kind = SERVER
    stamps_what_was_read = False

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        backends, generation = f"backends of {server['spec']['group']}", server["metadata"]["generation"]
        latest = await api.live.get(SERVER, request)
        if not self.stamps_what_was_read:
            generation = latest["metadata"]["generation"]
        wanted = {"backends": backends, "observedGeneration": generation}
        if latest.get("status") != wanted:
            latest["status"] = wanted
            await api.status.update(latest)


class Fixed(Reporters):
    name = "reporters"
    stamps_what_was_read = True


def claims_what_it_has_not_seen(cluster: Cluster) -> bool:
    server = cluster.get(SERVER, "s")
    status = server.get("status") or {}
    current = status.get("observedGeneration") == server["metadata"]["generation"]
    return bool(current and status["backends"] != f"backends of {server['spec']['group']}")


server = new_object(SERVER, "s", spec={"group": "a"})
buggy = Scenario(
    controllers=[Reporters()],
    crds=[permissive_crd(SERVER)],
    objects=[server],
    actions=[update(server, spec={"group": "b"})],
    properties=[never(claims_what_it_has_not_seen)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
