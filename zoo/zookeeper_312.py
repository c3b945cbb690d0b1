"""zookeeper-operator: the claims of a recreated cluster are deleted.

Link: https://github.com/pravega/zookeeper-operator/issues/312
Archetype: A1

A ZooKeeper cluster was deleted and created again under the same name. The operator restarted and was served by
an API server that lagged behind and still had the first cluster, with its deletionTimestamp. It ran the
clean-up of the first cluster, selected the claims by the name of the cluster, and deleted those of the second
one. The data was gone.

Interleaving: user deletes z -> operator cleans up and removes the finalizer -> user creates z again -> operator
creates a claim for it -> operator restarts and reads the old z, which is being deleted -> deletes the claim of
the new z

Fix: clean up only claims that belong to the cluster that is being deleted, by uid.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import (
    AlreadyExists,
    Api,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, create, delete
from kontend.testing import permissive_crd

CLUSTER = "ZookeeperCluster.zookeeper.pravega.io/v1"
CLAIM = "ConfigMap/v1"  # stands for the PersistentVolumeClaim


class Clusters(Controller):
    """Creates the claim of a cluster, and deletes it before the cluster goes."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            cluster = await api.get(CLUSTER, request)
        except NotFound:
            return
        if not cluster["metadata"].get("deletionTimestamp"):
            await self.create_claim(request, api)
            return
        for claim in await api.live.list(CLAIM, namespace="default", labels={"app": "z"}):
            if self.belongs(claim, cluster):
                with suppress(NotFound):
                    await api.delete(claim)
        cluster["metadata"]["finalizers"] = []
        with suppress(NotFound):
            await api.update(cluster)

    async def create_claim(self, request: Request, api: Api) -> None:
        with suppress(NotFound, AlreadyExists):
            cluster = await api.live.get(CLUSTER, request)
            claim = new_object(CLAIM, "data-z-0", namespace="default", labels={"app": "z"})
            set_controller_reference(cluster, claim)
            if not cluster["metadata"].get("deletionTimestamp"):
                await api.create(claim)

    def belongs(self, claim: dict[str, Any], cluster: dict[str, Any]) -> bool:
        return True


class Fixed(Clusters):
    name = "clusters"

    def belongs(self, claim: dict[str, Any], cluster: dict[str, Any]) -> bool:
        return is_controlled_by(claim, cluster)


z = new_object(CLUSTER, "z", finalizers=["zookeeper.pravega.io/claims"])
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[z],
    actions=[delete(z), create(z)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
