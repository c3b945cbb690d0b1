"""rabbitmq cluster-operator: the StatefulSet of a recreated cluster is deleted.

Link: https://github.com/rabbitmq/cluster-operator/issues/648
Archetype: A1

Before a RabbitmqCluster goes, the operator deletes its StatefulSet by name. The cluster was recreated; the
operator restarted, was served by an API server that still had the old one with its deletionTimestamp, and
deleted the StatefulSet of the new one.

Interleaving: user deletes r, operator deletes the set and removes the finalizer -> user creates r, operator
creates the set -> operator restarts, reads the old r -> deletes the new set

Fix: label the StatefulSet with the uid of its cluster, and delete it only if that is the uid of the cluster
that goes.
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
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, create, delete
from kontend.testing import permissive_crd

CLUSTER = "RabbitmqCluster.rabbitmq.com/v1"
SET = "Set.rabbitmq.com/v1"  # stands for the StatefulSet


class Clusters(Controller):
    """Creates the set of a cluster, and deletes it before the cluster goes."""

    kind = CLUSTER
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            cluster = await api.get(CLUSTER, request)
            if cluster["metadata"].get("deletionTimestamp"):
                await self.prepare_for_deletion(cluster, api)
            else:
                await self.create_set(await api.live.get(CLUSTER, request), api)

    async def prepare_for_deletion(self, cluster: dict[str, Any], api: Api) -> None:
        with suppress(NotFound):
            stateful_set = await api.live.get(SET, "default/r-server")
            if not self.compares or stateful_set["metadata"]["labels"]["uid"] == cluster["metadata"]["uid"]:
                await api.delete(stateful_set)
        cluster["metadata"]["finalizers"] = []
        await api.update(cluster)

    async def create_set(self, cluster: dict[str, Any], api: Api) -> None:
        if cluster["metadata"].get("deletionTimestamp"):
            return
        labels = {"uid": cluster["metadata"]["uid"]}
        stateful_set = new_object(SET, "r-server", namespace="default", labels=labels)
        set_controller_reference(cluster, stateful_set)
        with suppress(AlreadyExists):
            await api.create(stateful_set)


class Fixed(Clusters):
    name = "clusters"
    compares = True


r = new_object(CLUSTER, "r", finalizers=["deletion.finalizers.rabbitmqclusters.rabbitmq.com"])
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(SET)],
    objects=[r],
    actions=[delete(r), create(r)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
