"""karpenter: more nodes are disrupted than the budget allows.

Link: https://github.com/kubernetes-sigs/karpenter/issues/2917
Archetype: A4

A NodePool allows one node to be disrupted at a time. The disruption controller remembers the nodes that it has
queued, so that it does not choose them again, but it counts those that are being disrupted in its cache. A node
that it had marked a moment ago was not in the count of the next reconcile, and a second one was marked.

Interleaving: list: 0 disrupted, mark a -> list: 0 disrupted, mark b -> two are disrupted, the budget is one

Fix: record the disruptions in the status of the pool before marking a node; the resourceVersion of the pool
refuses a decision that was made from an old count.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_patch, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

POOL = "NodePool.karpenter.sh/v1"
NODE = "NodeClaim.karpenter.sh/v1"


class Disruption(Controller):
    """Marks nodes for replacement, within the budget."""

    kind = POOL
    watches = {NODE: lambda node, cache: ["default/pool"]}
    memory = ("queued",)

    def __init__(self) -> None:
        self.queued: list[str] = []

    async def reconcile(self, request: Request, api: Api) -> None:
        pool = await api.get(POOL, request)
        nodes = await api.list(NODE, namespace=request.namespace)
        marked = [node for node in nodes if node["metadata"].get("annotations")]
        if len(marked) >= pool["spec"]["budget"]:
            return
        candidates = [node for node in nodes if node["metadata"]["name"] not in self.queued]
        if not candidates:
            return
        node = candidates[0]
        self.queued.append(node["metadata"]["name"])
        await api.patch(node, merge_patch({"metadata": {"annotations": {"karpenter.sh/disrupted": "true"}}}))
        pool["status"] = {"disrupted": [node["metadata"]["name"]]}
        await api.status.update(pool)


class Fixed(Disruption):
    name = "disruption"

    async def reconcile(self, request: Request, api: Api) -> None:
        pool = await api.get(POOL, request)
        nodes = await api.list(NODE, namespace=request.namespace)
        disrupted = (pool.get("status") or {}).get("disrupted") or []
        if len(disrupted) < pool["spec"]["budget"]:
            disrupted = [nodes[0]["metadata"]["name"]]
            pool["status"] = {"disrupted": disrupted}
            await api.status.update(pool)
        for node in nodes:
            if node["metadata"]["name"] in disrupted and not node["metadata"].get("annotations"):
                await api.patch(node, merge_patch({"metadata": {"annotations": {"karpenter.sh/disrupted": "true"}}}))


buggy = Scenario(
    controllers=[Disruption()],
    crds=[permissive_crd(POOL), permissive_crd(NODE)],
    objects=[new_object(POOL, "pool", spec={"budget": 1}), *(new_object(NODE, name) for name in ("a", "b"))],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
