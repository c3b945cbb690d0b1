"""zookeeper-operator: a claim survives the scale-down that should remove it.

Link: https://github.com/pravega/zookeeper-operator/issues/453
Archetype: A3

A cluster was created and scaled down at once. The operator removes the claims of former members at the moment
it scales the StatefulSet down, and at no other. The claim of a member that was still being created appeared
after that moment: it stayed, and a later scale-up found the data of a member that ZooKeeper did not know any
more.

Interleaving: set has 2 replicas -> user wants 1 -> operator scales to 1 and lists 1 claim -> the claim of
member 1 appears

Fix: remove the claims of members beyond the size whenever there are any.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

CLUSTER = "ZookeeperCluster.zookeeper.pravega.io/v1"
SET = "Set.zookeeper.pravega.io/v1"  # stands for the StatefulSet
CLAIM = "ConfigMap/v1"  # stands for the claim of a member


class Clusters(Controller):
    """Scales the set and removes the claims of former members."""

    kind = CLUSTER
    watches = {SET: lambda stateful_set, cache: ["default/z"], CLAIM: lambda claim, cache: ["default/z"]}
    level_triggered = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        stateful_set = await api.get(SET, "default/z")
        size = cluster["spec"]["size"]
        scales_down = stateful_set["spec"]["replicas"] > size
        if scales_down:
            stateful_set["spec"]["replicas"] = size
            await api.update(stateful_set)
        if scales_down or self.level_triggered:
            for claim in await api.list(CLAIM, namespace="default", labels={"app": "z"}):
                if int(claim["metadata"]["labels"]["member"]) >= size:
                    with suppress(NotFound):
                        await api.delete(claim, uid=claim["metadata"]["uid"])


class Sets(Controller):
    """Creates the claims of a set's members; that of member 0 exists."""

    kind = SET

    async def reconcile(self, request: Request, api: Api) -> None:
        stateful_set = await api.live.get(SET, request)
        for member in range(1, stateful_set["spec"]["replicas"]):
            labels = {"app": "z", "member": str(member)}
            with suppress(AlreadyExists):
                await api.create(new_object(CLAIM, f"data-z-{member}", namespace="default", labels=labels))


class Fixed(Clusters):
    name = "clusters"
    level_triggered = True


cluster = new_object(CLUSTER, "z", spec={"size": 2})
buggy = Scenario(
    controllers=[Clusters(), Sets()],
    crds=[permissive_crd(CLUSTER), permissive_crd(SET)],
    objects=[cluster, new_object(SET, "z", spec={"replicas": 2})],
    actions=[update(cluster, spec={"size": 1})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Sets()])
