"""rabbitmq cluster-operator: a volume is never resized.

Link: https://github.com/rabbitmq/cluster-operator/issues/782
Archetype: A2

To enlarge the volume of a cluster the operator recreates the StatefulSet with the new size and then updates the
claims. It knows that there is something to do because the wanted size is larger than that of the StatefulSet.
After a crash between the two writes they are equal, and the claims keep their old size forever.

Interleaving: wanted 15, set 10, claim 10 -> write 15 to the set -> crash -> wanted 15, set 15: nothing to do ->
claim 10

Fix: compare with the claims, which are written last.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

CLUSTER = "RabbitmqCluster.rabbitmq.com/v1"
SET = "Set.rabbitmq.com/v1"  # stands for the StatefulSet
CLAIM = "Claim.rabbitmq.com/v1"  # stands for the PersistentVolumeClaim


class Clusters(Controller):
    """Enlarges the volume of a cluster."""

    kind = CLUSTER
    compares = SET

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.live.get(CLUSTER, request)
        wanted = cluster["spec"]["storage"]
        if wanted <= (await api.live.get(self.compares, "default/r"))["spec"]["storage"]:
            return
        for kind in (SET, CLAIM):
            child = await api.live.get(kind, "default/r")
            child["spec"]["storage"] = wanted
            await api.update(child)


class Fixed(Clusters):
    name = "clusters"
    compares = CLAIM


cluster = new_object(CLUSTER, "r", spec={"storage": 10})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(SET), permissive_crd(CLAIM)],
    objects=[cluster, new_object(SET, "r", spec={"storage": 10}), new_object(CLAIM, "r", spec={"storage": 10})],
    actions=[update(cluster, spec={"storage": 15})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
