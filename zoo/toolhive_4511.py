"""toolhive: a reference that is valid again stays invalid.

Link: https://github.com/stacklok/toolhive/issues/4511
Archetype: A3

A server stores the hash of the configuration that it refers to, and a condition that says whether the reference is
valid. The condition is set True in memory, and stored only where the hash has changed. A configuration that is deleted
and created again with the same content has the same hash: the condition stays False. If the deletion is not seen, it
stays True.

Interleaving: the configuration is deleted: valid=False -> created again: the hash is equal, nothing is stored

Fix: store the condition whenever it has changed, whatever the hash.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, create, delete, eventually
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
CONFIG = "ConfigMap/v1"  # stands for the MCPOIDCConfig


class Servers(Controller):
    """Validates the reference of a server."""

    kind = SERVER
    watches = {CONFIG: lambda config, cache: ["default/s"]}
    compares_all = False

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.live.get(SERVER, request)
        before = server["status"]
        try:
            config = await api.get(CONFIG, "default/oidc")
        except NotFound:
            status = {**before, "valid": False}
        else:
            status = {"valid": True, "hash": config["data"]["issuer"]}
            if not self.compares_all and status["hash"] == before["hash"]:
                return
        if status != before:
            server["status"] = status
            await api.status.update(server)


class Fixed(Servers):
    name = "servers"
    compares_all = True


def is_valid(cluster: Cluster) -> bool:
    return bool(cluster.get(SERVER, "s")["status"]["valid"])


config = new_object(CONFIG, "oidc", namespace="default", data={"issuer": "i"})
buggy = Scenario(
    controllers=[Servers()],
    crds=[permissive_crd(SERVER)],
    objects=[new_object(SERVER, "s", spec={}, status={"valid": True, "hash": "i"}), config],
    actions=[delete(config), create(config)],
    properties=[eventually(is_valid)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
