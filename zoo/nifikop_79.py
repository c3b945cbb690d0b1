"""nifikop: a node is never initialised.

Link: https://github.com/konpyutaika/nifikop/issues/79
Archetype: A2

The operator moves the state of a cluster from empty to initialising to reconciling, and initialises the nodes
at the first of these transitions. It crashed after it had stored the next state and before the initialisation
was done. After the restart the state said that the nodes were ready to be reconciled.

Interleaving: state "" -> store ClusterReconciling -> crash -> state is ClusterReconciling: skip the
initialisation

Fix: store the state after the work that it stands for.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "NifiCluster.nifi.konpyutaika.com/v1"
INITIALISED = "ConfigMap/v1"  # what the initialisation of a node leaves behind


class Clusters(Controller):
    """Initialises the node of a new cluster."""

    kind = CLUSTER
    state_first = True

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.live.get(CLUSTER, request)
        if (cluster.get("status") or {}).get("state"):
            return
        if not self.state_first:
            await self.initialise(api)
        cluster["status"] = {"state": "ClusterReconciling"}
        await api.status.update(cluster)
        if self.state_first:
            await self.initialise(api)

    async def initialise(self, api: Api) -> None:
        with suppress(AlreadyExists):
            await api.create(new_object(INITIALISED, "node-0", namespace="default"))


class Fixed(Clusters):
    name = "clusters"
    state_first = False


buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[new_object(CLUSTER, "n", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
