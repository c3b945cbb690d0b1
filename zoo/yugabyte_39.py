"""yugabyte-operator: the data of a removed tablet server is not moved.

Link: https://github.com/yugabyte/yugabyte-operator/issues/39
Archetype: A3

Before the operator scales tablet servers down, it moves their data. It notices a scale-down by comparing the
replicas of the spec with those that it stored in its status at the end of the last reconcile. The user scaled
from 3 to 4 and back. The reconcile that had applied the 4 could not store it, because the spec had changed
meanwhile; for the next one nothing had been scaled down.

Interleaving: operator scales the set to 4 -> user sets 3 -> status update: 409 -> status still says 3, spec
says 3: no scale-down -> the set is scaled to 3, and the data of server 3 is not moved

Fix: compare the spec with the set itself.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

CLUSTER = "YBCluster.yugabyte.com/v1"
SET = "Set.yugabyte.com/v1"  # stands for the StatefulSet
MOVED = "ConfigMap/v1"


class Clusters(Controller):
    """Moves the data of servers that will go, then scales the set."""

    kind = CLUSTER
    watches = {SET: lambda stateful_set, cache: []}
    compares_set = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.live.get(CLUSTER, request)
        stateful_set = await api.live.get(SET, "default/yb")
        wanted, present = cluster["spec"]["replicas"], stateful_set["spec"]["replicas"]
        before = present if self.compares_set else (cluster.get("status") or {}).get("replicas", 3)
        if wanted < before:
            await api.apply(new_object(MOVED, "moved", namespace="default"))
        if present != wanted:
            stateful_set["spec"]["replicas"] = wanted
            await api.update(stateful_set)
        cluster["status"] = {"replicas": wanted}
        await api.status.update(cluster)


class Fixed(Clusters):
    name = "clusters"
    compares_set = True


def removed_without_moving(before: Cluster, after: Cluster) -> bool:
    shrunk = before.get(SET, "yb")["spec"]["replicas"] > after.get(SET, "yb")["spec"]["replicas"]
    return shrunk and not after.list(MOVED)


cluster = new_object(CLUSTER, "yb", spec={"replicas": 3})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(SET)],
    objects=[cluster, new_object(SET, "yb", spec={"replicas": 3})],
    actions=[update(cluster, spec={"replicas": 4}), update(cluster, spec={"replicas": 3})],
    properties=[never(removed_without_moving)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
