"""percona xtradb: a cluster that is half deleted stays forever.

Link: https://jira.percona.com/browse/K8SPXC-979
Archetype: A2

The finalizer of a cluster deletes its StatefulSet and then its secrets. To delete the set it reads it first,
and a set that is not there is an error. The operator crashed after the set was deleted: every further attempt
fails at the first step.

Interleaving: delete the set -> crash -> get the set: not found, error, retry -> ...

Fix: a set that is gone is deleted; go on.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

CLUSTER = "PerconaXtraDBCluster.pxc.percona.com/v1"
SET = "Set.pxc.percona.com/v1"  # stands for the StatefulSet
SECRET = "Secret/v1"


class Clusters(Controller):
    """Deletes set and secret of a cluster that goes."""

    kind = CLUSTER
    tolerates = False

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            cluster = await api.live.get(CLUSTER, request)
        except NotFound:
            return
        if not cluster["metadata"].get("deletionTimestamp"):
            return
        try:
            await api.delete(await api.live.get(SET, "default/db-pxc"))
        except NotFound:
            if not self.tolerates:
                raise
        with suppress(NotFound):
            await api.delete(new_object(SECRET, "db-users", namespace="default"))
        cluster["metadata"]["finalizers"] = []
        await api.update(cluster)


class Fixed(Clusters):
    name = "clusters"
    tolerates = True


db = new_object(CLUSTER, "db", finalizers=["delete-pxc-pods-in-order"])
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(SET)],
    objects=[db, new_object(SET, "db-pxc"), new_object(SECRET, "db-users")],
    actions=[delete(db)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
