"""karpenter: a pod is placed on a node that is going away.

Link: https://github.com/kubernetes-sigs/karpenter/issues/2919
Archetype: A4

The disruption controller taints a node that no pod uses and deletes it. The provisioner, whose view does not
have the taint yet, nominates the node for a pod. The pod waits for a node that is gone.

Interleaving: provisioner reads the node without a taint -> disruption taints and deletes the node ->
provisioner stores the nomination

Fix: both decisions are written to the node first, with its resourceVersion: whoever comes second is refused.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Cluster, Conflict, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

POD = "Workload.karpenter.sh/v1"  # stands for the pod
NODE = "NodeClaim.karpenter.sh/v1"


class Provisioner(Controller):
    """Nominates a node without a taint for a pod."""

    kind = POD
    reserves = False

    async def reconcile(self, request: Request, api: Api) -> None:
        pod = await api.live.get(POD, request)
        if (pod.get("status") or {}).get("node"):
            return
        nodes = [node for node in await api.live.list(NODE, namespace="default") if not node["spec"].get("tainted")]
        if not nodes:
            return
        if self.reserves:
            nodes[0]["spec"]["nominated"] = True
            await api.update(nodes[0])
        pod["status"] = {"node": nodes[0]["metadata"]["name"]}
        await api.status.update(pod)


class Disruption(Controller):
    """Taints and deletes a node that no pod uses."""

    kind = NODE

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound, Conflict):
            node = await api.live.get(NODE, request)
            used = [
                pod for pod in await api.live.list(POD, namespace="default") if (pod.get("status") or {}).get("node")
            ]
            if used or node["spec"].get("nominated"):
                return
            if not node["spec"].get("tainted"):
                node["spec"]["tainted"] = True
                await api.update(node)
            await api.delete(node)


class Fixed(Provisioner):
    name = "provisioner"
    reserves = True


def placed_on_a_ghost(cluster: Cluster) -> bool:
    placed = [pod["status"]["node"] for pod in cluster.list(POD) if pod.get("status")]
    return bool(placed) and not cluster.list(NODE)


buggy = Scenario(
    controllers=[Provisioner(), Disruption()],
    crds=[permissive_crd(POD), permissive_crd(NODE)],
    objects=[new_object(POD, "p", spec={}), new_object(NODE, "n", spec={})],
    properties=[never(placed_on_a_ghost)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Disruption()])
