"""yugabyte-operator: TLS secrets are deleted although TLS is on.

Link: https://github.com/yugabyte/yugabyte-operator/issues/35
Archetype: A1

TLS was switched on, off and on again. After a restart the operator saw it off and deleted the secrets. The
servers that had been started with them could not be reached by those that got new ones.

Interleaving: TLS is off -> user switches it on, operator creates secrets -> operator restarts, reads off ->
deletes them

Fix: delete with the version of the cluster in hand: confirm the spec on the server first.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

CLUSTER = "YBCluster.yugabyte.com/v1"
SECRET = "Secret/v1"
NAMES = ("master-ca", "tserver-ca")


class Clusters(Controller):
    """Creates or deletes the certificates of a cluster."""

    kind = CLUSTER
    confirms = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        if not cluster["spec"]["tls"] and self.confirms:
            cluster = await api.live.get(CLUSTER, request)
        for name in NAMES:
            if cluster["spec"]["tls"]:
                with suppress(AlreadyExists):
                    await api.create(new_object(SECRET, name, namespace="default"))
            else:
                with suppress(NotFound):
                    await api.delete(new_object(SECRET, name, namespace="default"))


class Fixed(Clusters):
    name = "clusters"
    confirms = True


def deleted_although_wanted(before: Cluster, after: Cluster) -> bool:
    return before.get(CLUSTER, "yb")["spec"]["tls"] and len(before.list(SECRET)) > len(after.list(SECRET))


yb = new_object(CLUSTER, "yb", spec={"tls": False})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[yb],
    actions=[update(yb, spec={"tls": True})],
    properties=[never(deleted_although_wanted)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
