"""cilium: two operators assign one PodCIDR to two nodes.

Link: https://github.com/cilium/cilium/issues/42920
Archetype: A12

The operator's stop hooks took longer than its lease. The next leader started to assign address ranges while the
old one was still finishing the assignment it had begun. Both had computed the free ranges from their own lists,
and both handed out the same range, each to another node.

Interleaving: old leader lists nodes, range 1 is free -> new leader lists, range 1 is free, assigns it to a ->
old leader assigns range 1 to b

Fix: claim a range by creating an object named after it, which only one of them can do.
"""

from dataclasses import replace

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Bounds, Scenario, never
from kontend.testing import permissive_crd

NODE = "CiliumNode.cilium.io/v2"
RANGE = "ConfigMap/v1"  # the claim of a range
RANGES = ("10.0.0.0", "10.0.1.0")


class Operators(Controller):
    """Assigns the first free range to a node that has none."""

    kind = NODE
    claims = False

    async def reconcile(self, request: Request, api: Api) -> None:
        nodes = await api.live.list(NODE, namespace=request.namespace)
        node = next(node for node in nodes if node["metadata"]["name"] == request.name)
        if node["spec"].get("podCIDR"):
            return
        taken = [other["spec"].get("podCIDR") for other in nodes]
        for cidr in RANGES:
            if cidr not in taken and await self.claim(cidr, request, api):
                node["spec"]["podCIDR"] = cidr
                await api.update(node)
                return

    async def claim(self, cidr: str, request: Request, api: Api) -> bool:
        return True


class Fixed(Operators):
    name = "operators"

    async def claim(self, cidr: str, request: Request, api: Api) -> bool:
        try:
            await api.create(new_object(RANGE, cidr, namespace="default", data={"node": request.name}))
        except AlreadyExists:
            claim = await api.live.get(RANGE, f"default/{cidr}")
            return bool(claim["data"]["node"] == request.name)
        return True


def shared_range(cluster: Cluster) -> bool:
    ranges = [node["spec"].get("podCIDR") for node in cluster.list(NODE)]
    return len(set(ranges)) < len(ranges) and None not in ranges


buggy = Scenario(
    controllers=[Operators()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, name, spec={}) for name in ("a", "b")],
    properties=[never(shared_range)],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
