"""toolhive: a hash that is never removed is drift forever.

Link: https://github.com/stacklok/toolhive/pull/5821
Archetype: A10

The operator keeps hashes of its inputs in annotations. Annotations are merged into those that are stored, so
that others' survive. When an input is cleared, its hash is no longer wanted, but merging never removes a key:
every reconcile sees one annotation too many, updates the object, and changes the time of the update, twice in
thirty seconds on every server.

Interleaving: wanted {} and stored {hash} differ -> update {hash, restarted} -> they differ -> ...

Fix: remove the own keys that are not wanted any more.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
WORKLOAD = "Workload.toolhive.stacklok.dev/v1"
OWN = ("toolhive.stacklok.dev/oidc-hash", "toolhive.stacklok.dev/restart")


class Servers(Controller):
    """Keeps the hashes of a server on its workload."""

    kind = SERVER
    watches = {WORKLOAD: lambda workload, cache: ["default/s"]}
    prunes = False

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        workload = await api.get(WORKLOAD, "default/s")
        annotations = workload["metadata"].setdefault("annotations", {})
        wanted = {OWN[0]: server["spec"]["oidc"]} if server["spec"].get("oidc") else {}
        present = {key: value for key, value in annotations.items() if key == OWN[0]}
        if present == wanted:
            return
        annotations[OWN[1]] = "odd" if annotations.get(OWN[1]) == "even" else "even"
        annotations.update(wanted)
        if self.prunes and not wanted:
            annotations.pop(OWN[0], None)
        await api.update(workload)


class Fixed(Servers):
    name = "servers"
    prunes = True


buggy = Scenario(
    controllers=[Servers()],
    crds=[permissive_crd(SERVER), permissive_crd(WORKLOAD)],
    objects=[new_object(SERVER, "s", spec={}), new_object(WORKLOAD, "s", annotations={OWN[0]: "abc"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
