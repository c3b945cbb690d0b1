"""sei-k8s-controller: a rollout ends because a cached node has not begun it.

Link: https://github.com/sei-protocol/sei-k8s-controller/blob/5dba22d/internal/task/await_spec_update.go
Archetype: A4

The last task of a rollout waits until the image in the status of each node is the one in its spec. Both are read from
one cached node. Right after the task before it has written the new image, the cached node is as it was: old spec, old
status, in perfect agreement. The rollout is complete, and nothing runs the new image yet.

Interleaving: write image 2 to the node -> cached node: spec 1, status 1 -> the rollout is recorded as complete

Fix: read the node from the server, and compare its status with the image of the plan.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"
NODE = "SeiNode.sei.io/v1"


class Deployments(Controller):
    """Writes the image to the node, and records the rollout when the node has followed."""

    kind = DEPLOYMENT
    watches = {NODE: lambda node, cache: ["default/d"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        image = deployment["spec"]["image"]
        if deployment["status"]["rolledOut"] == image:
            return
        await api.apply(new_object(NODE, "n", namespace="default", spec={"image": image}))
        node = await self.observed(api)
        if node["spec"]["image"] == node["status"]["image"]:
            deployment["status"]["rolledOut"] = image
            await api.status.update(deployment)

    async def observed(self, api: Api) -> dict[str, Any]:
        return await api.get(NODE, "default/n")


class Nodes(Controller):
    """Runs the image of a node."""

    kind = NODE

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        if node["status"]["image"] != node["spec"]["image"]:
            node["status"]["image"] = node["spec"]["image"]
            await api.status.update(node)


class Fixed(Deployments):
    name = "deployments"

    async def observed(self, api: Api) -> dict[str, Any]:
        return await api.live.get(NODE, "default/n")


def recorded_too_early(cluster: Cluster) -> bool:
    rolled_out = cluster.get(DEPLOYMENT, "d")["status"]["rolledOut"]
    return bool(rolled_out == "v2" and cluster.get(NODE, "n")["status"]["image"] != "v2")


deployment = new_object(DEPLOYMENT, "d", spec={"image": "v1"}, status={"rolledOut": "v1"})
buggy = Scenario(
    controllers=[Deployments(), Nodes()],
    crds=[permissive_crd(DEPLOYMENT), permissive_crd(NODE)],
    objects=[deployment, new_object(NODE, "n", spec={"image": "v1"}, status={"image": "v1"})],
    actions=[update(deployment, spec={"image": "v2"})],
    properties=[never(recorded_too_early)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Nodes()])
