"""kcp: a logical cluster is initialised and never becomes ready.

Link: https://github.com/kcp-dev/kcp/issues/3926
Archetype: A2

When the last binding of a workspace is there, the controller removes its initializer from the spec of the
LogicalCluster and then stores the phase Ready in the status. After a crash between the two, the initializer is
gone and nobody touches the phase: the workspace stays in Initializing.

Interleaving: remove the initializer -> crash -> no initializer of ours, nothing to do -> phase Initializing

Fix: derive the phase from the initializers in every reconcile.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "LogicalCluster.core.kcp.io/v1"


class Bindings(Controller):
    """Ends the initialisation of a logical cluster."""

    kind = CLUSTER
    derives = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.live.get(CLUSTER, request)
        if cluster["spec"]["initializers"]:
            cluster["spec"]["initializers"] = []
            await api.update(cluster)
        elif not self.derives:
            return
        if cluster["status"]["phase"] != "Ready":
            cluster["status"]["phase"] = "Ready"
            await api.status.update(cluster)


class Fixed(Bindings):
    name = "bindings"
    derives = True


buggy = Scenario(
    controllers=[Bindings()],
    crds=[permissive_crd(CLUSTER)],
    objects=[new_object(CLUSTER, "lc", spec={"initializers": ["bindings"]}, status={"phase": "Initializing"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
