"""casskop: a node is removed without being decommissioned.

Link: https://github.com/Orange-OpenSource/casskop/issues/342
Archetype: A3

A rack is scaled down one node at a time: when the operator sees one node less in the spec than it applied last,
it decommissions that node, which moves its data, and then removes it. The spec went from 2 to 1 to 0 in quick
succession, and the operator never saw the 1. For a difference of two it has no step: the nodes were removed
with their data.

Interleaving: applied 2 -> user sets 1 -> user sets 0 -> operator sees 0, not 1 -> removes both, decommissions
none

Fix: decommission every node between the number that was applied and the one that is wanted.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually, update
from kontend.testing import permissive_crd

CLUSTER = "CassandraCluster.db.orange.com/v1"
NOTE = "ConfigMap/v1"  # one for each node that was decommissioned


class Clusters(Controller):
    """Scales a rack down."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        wanted, applied = cluster["spec"]["nodes"], cluster["status"]["nodes"]
        if wanted == applied:
            return
        for node in self.leaving(applied, wanted):
            await api.apply(new_object(NOTE, f"decommissioned-{node}", namespace="default"))
        cluster["status"]["nodes"] = wanted
        await api.status.update(cluster)

    def leaving(self, applied: int, wanted: int) -> list[int]:
        return [wanted] if applied - wanted == 1 else []


class Fixed(Clusters):
    name = "clusters"

    def leaving(self, applied: int, wanted: int) -> list[int]:
        return list(range(wanted, applied))


def all_decommissioned(cluster: Cluster) -> bool:
    return len(cluster.list(NOTE)) == 2


cluster = new_object(CLUSTER, "c", spec={"nodes": 2}, status={"nodes": 2})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[cluster],
    actions=[update(cluster, spec={"nodes": 1}), update(cluster, spec={"nodes": 0})],
    properties=[eventually(all_decommissioned)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
