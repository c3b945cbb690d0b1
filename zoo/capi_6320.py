"""cluster-api: two controllers own parts of one atomic list.

Link: https://github.com/kubernetes-sigs/cluster-api/issues/6320
Archetype: A11

The topology controller wrote the list of subnets from its template. The infrastructure provider added the ids
that the cloud had assigned to the same entries. The list is atomic, so each write replaced the entries of the
other, forever.

Interleaving: topology writes [{cidr}] -> provider writes [{cidr, id}] -> topology sees a difference, writes
[{cidr}] -> ...

Fix: apply only the fields that the topology has opinions about, on a list that is merged by key. Here: the
topology compares and writes its own fields and keeps the others.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "AWSCluster.infrastructure.cluster.x-k8s.io/v1"
TEMPLATE = [{"cidr": "10.0.0.0/24"}]


class Topology(Controller):
    """Keeps the subnets equal to those of the template."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        base = deepcopy(cluster)
        cluster["spec"]["subnets"] = self.wanted(cluster["spec"].get("subnets") or [])
        if cluster != base:
            await api.patch(cluster, merge_from(base, lock=True))

    def wanted(self, subnets: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return TEMPLATE


class Provider(Controller):
    """Records the id of each subnet."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        base = deepcopy(cluster)
        for subnet in cluster["spec"].get("subnets") or []:
            subnet["id"] = f"subnet-{subnet['cidr']}"
        if cluster != base:
            await api.patch(cluster, merge_from(base, lock=True))


class Fixed(Topology):
    name = "topology"

    def wanted(self, subnets: list[dict[str, Any]]) -> list[dict[str, Any]]:
        known = {subnet["cidr"]: subnet for subnet in subnets}
        return [{**known.get(subnet["cidr"], {}), **subnet} for subnet in TEMPLATE]


buggy = Scenario(
    controllers=[Topology(), Provider()],
    crds=[permissive_crd(CLUSTER, plural="awsclusters")],
    objects=[new_object(CLUSTER, "c", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Provider()])
