"""sei-k8s-controller: a node runs the new image only in its status.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/216
Archetype: A8

One pass over a plan applies the StatefulSet and then observes it: when the observed generation is current and
all replicas are updated, the new image is recorded as running. The observation read the StatefulSet from the
cache, where it was as before the apply: complete in every respect. The guard that compares generations sees
nothing wrong in an object that is old as a whole.

Interleaving: apply image 2 -> cached get: set with image 1, fully rolled out -> currentImage=2

Fix: observe the set on the server.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Applies the set, waits until it is rolled out, records the image."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        image = node["spec"]["image"]
        if node["status"]["currentImage"] == image:
            return
        await api.apply(new_object(SET, "n", namespace="default", spec={"image": image}))
        stateful_set = await self.observed(api)
        status = stateful_set.get("status") or {}
        if status.get("observedGeneration", 0) < stateful_set["metadata"]["generation"]:
            return
        node["status"]["currentImage"] = image
        await api.status.update(node)

    async def observed(self, api: Api) -> dict[str, Any]:
        return await api.get(SET, "default/n")


class Sets(Controller):
    """Rolls out the image of a set."""

    kind = SET

    async def reconcile(self, request: Request, api: Api) -> None:
        stateful_set = await api.live.get(SET, request)
        generation = stateful_set["metadata"]["generation"]
        wanted = {"image": stateful_set["spec"]["image"], "observedGeneration": generation}
        if stateful_set.get("status") != wanted:
            stateful_set["status"] = wanted
            await api.status.update(stateful_set)


class Fixed(Nodes):
    name = "nodes"

    async def observed(self, api: Api) -> dict[str, Any]:
        return await api.live.get(SET, "default/n")


def recorded_too_early(cluster: Cluster) -> bool:
    recorded = cluster.get(NODE, "n")["status"]["currentImage"] == "seid:2"
    return recorded and (cluster.get(SET, "n").get("status") or {}).get("image") != "seid:2"


node = new_object(NODE, "n", spec={"image": "seid:1"}, status={"currentImage": "seid:1"})
rolled_out = {"image": "seid:1", "observedGeneration": 1}
buggy = Scenario(
    controllers=[Nodes(), Sets()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[node, new_object(SET, "n", spec={"image": "seid:1"}, status=rolled_out)],
    actions=[update(node, spec={"image": "seid:2"})],
    properties=[never(recorded_too_early)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Sets()])
