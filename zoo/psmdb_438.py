"""percona mongodb: an arbiter that is wanted is deleted.

Link: https://jira.percona.com/browse/K8SPSMDB-438
Archetype: A1

The arbiter of a replica set was switched on, off and on again. The operator restarted with a view in which it
was off, and deleted the StatefulSet of the arbiter. A moment later it saw that the arbiter was on and created a
new one; the member had lost its identity and the replica set its quorum.

Interleaving: arbiter is off -> user switches it on, operator creates the set -> operator restarts, reads off ->
deletes the set

Fix: read the cluster from the server before anything is deleted.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

CLUSTER = "PerconaServerMongoDB.psmdb.percona.com/v1"
SET = "ConfigMap/v1"  # stands for the StatefulSet of the arbiter


class Clusters(Controller):
    """Creates or deletes the set of the arbiter."""

    kind = CLUSTER
    confirms = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        if cluster["spec"]["arbiter"]:
            with suppress(AlreadyExists):
                await api.create(new_object(SET, "arbiter", namespace="default"))
            return
        if self.confirms and (await api.live.get(CLUSTER, request))["spec"]["arbiter"]:
            return
        with suppress(NotFound):
            await api.delete(new_object(SET, "arbiter", namespace="default"))


class Fixed(Clusters):
    name = "clusters"
    confirms = True


def deleted_although_wanted(before: Cluster, after: Cluster) -> bool:
    wanted = before.get(CLUSTER, "db")["spec"]["arbiter"]
    return wanted and bool(before.list(SET)) and not after.list(SET)


db = new_object(CLUSTER, "db", spec={"arbiter": False})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[db],
    actions=[update(db, spec={"arbiter": True})],
    properties=[never(deleted_although_wanted)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
