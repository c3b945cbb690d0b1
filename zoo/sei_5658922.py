"""sei-k8s-controller: a rollout is complete before it has begun.

Link: https://github.com/sei-protocol/sei-k8s-controller/commit/5658922
Archetype: A8

The controller applies a new image to the StatefulSet and looks at the status in the response: all replicas are
updated. That status belongs to the template before; the StatefulSet controller has not seen the new one yet.
The new image is recorded as running.

Interleaving: apply image 2 -> the response has generation 2 and the status of generation 1: updated ->
currentImage=2

Fix: wait while the observed generation is behind.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Applies the image of a node and records it when it runs."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        image = node["spec"]["image"]
        if node["status"]["currentImage"] == image:
            return
        applied = await api.apply(new_object(SET, "n", namespace="default", spec={"image": image}))
        status = applied["status"]
        behind = self.compares and status["observedGeneration"] < applied["metadata"]["generation"]
        if status["updatedReplicas"] == 1 and not behind:
            node["status"]["currentImage"] = image
            await api.status.update(node)


class Sets(Controller):
    """Rolls out the image of a set."""

    kind = SET

    async def reconcile(self, request: Request, api: Api) -> None:
        stateful_set = await api.live.get(SET, request)
        generation, image = stateful_set["metadata"]["generation"], stateful_set["spec"]["image"]
        wanted = {"image": image, "updatedReplicas": 1, "observedGeneration": generation}
        if stateful_set["status"] != wanted:
            stateful_set["status"] = wanted
            await api.status.update(stateful_set)


class Fixed(Nodes):
    name = "nodes"
    compares = True


def recorded_too_early(cluster: Cluster) -> bool:
    recorded = cluster.get(NODE, "n")["status"]["currentImage"] == "seid:2"
    return bool(recorded and cluster.get(SET, "n")["status"]["image"] != "seid:2")


node = new_object(NODE, "n", spec={"image": "seid:1"}, status={"currentImage": "seid:1"})
rolled_out = {"image": "seid:1", "updatedReplicas": 1, "observedGeneration": 1}
buggy = Scenario(
    controllers=[Nodes(), Sets()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[node, new_object(SET, "n", spec={"image": "seid:1"}, status=rolled_out)],
    actions=[update(node, spec={"image": "seid:2"})],
    properties=[never(recorded_too_early)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Sets()])
