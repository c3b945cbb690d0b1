"""percona mongodb: pods and volumes of a recreated cluster are deleted.

Link: https://jira.percona.com/browse/K8SPSMDB-430
Archetype: A1

The clean-up of a cluster deletes its pods, then its claims, all found by the cluster's name. It ran for the old
cluster, which the operator saw again after a restart, against the pods and claims of the new one: an outage,
and the data was lost.

Interleaving: user deletes db, operator cleans up -> user creates db, pod and claim are created -> operator
restarts, reads the old db -> deletes pod and claim

Fix: read the cluster from the server before a clean-up, and compare uids.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object, set_controller_reference
from kontend.explore import Scenario, create, delete
from kontend.testing import permissive_crd

CLUSTER = "PerconaServerMongoDB.psmdb.percona.com/v1"
CHILDREN = ("Member.psmdb.percona.com/v1", "Claim.psmdb.percona.com/v1")  # stand for pods and claims


class Clusters(Controller):
    """Creates pod and claim of a cluster, and deletes both before it goes."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            cluster = await api.get(CLUSTER, request)
            if cluster["metadata"].get("deletionTimestamp"):
                await self.clean_up(cluster, api)
                return
            cluster = await api.live.get(CLUSTER, request)
            if cluster["metadata"].get("deletionTimestamp"):
                return
            for kind in CHILDREN:
                child = new_object(kind, "db-rs0-0", namespace="default")
                set_controller_reference(cluster, child)
                with suppress(AlreadyExists):
                    await api.create(child)

    async def clean_up(self, cluster: dict[str, Any], api: Api) -> None:
        for kind in CHILDREN:
            for child in await api.live.list(kind, namespace="default"):
                with suppress(NotFound):
                    await api.delete(child)
        cluster["metadata"]["finalizers"] = []
        await api.update(cluster)


class Fixed(Clusters):
    name = "clusters"

    async def clean_up(self, cluster: dict[str, Any], api: Api) -> None:
        live = await api.live.get(CLUSTER, f"default/{cluster['metadata']['name']}")
        if live["metadata"]["uid"] == cluster["metadata"]["uid"]:
            await super().clean_up(live, api)


db = new_object(CLUSTER, "db", finalizers=["delete-psmdb-pods-in-order"])
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), *(permissive_crd(kind) for kind in CHILDREN)],
    objects=[db],
    actions=[delete(db), create(db)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
