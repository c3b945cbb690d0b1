"""sei-k8s-controller: a new plan inherits the results of an old one.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/50
Archetype: A8

The id of a sidecar task was made of the name of the node. A second plan, for another image, asks the sidecar about the
same id, finds it completed, and records the new image as configured. The sidecar has never heard of it.

Interleaving: plan 1 submits n-configure, Completed -> the image changes: plan 2 -> query n-configure: Completed ->
image 2 is recorded

Fix: derive the ids of tasks from the id of their plan.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SUBMISSION = "ConfigMap/v1"  # the sidecar's record of a completed task


class Nodes(Controller):
    """Has the sidecar configure each image, then records it."""

    kind = NODE

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        image = node["spec"]["image"]
        if (node.get("status") or {}).get("configured") == image:
            return
        identity = self.identity(node)
        try:
            await api.live.get(SUBMISSION, f"default/{identity}")
        except NotFound:
            with suppress(AlreadyExists):
                await api.create(new_object(SUBMISSION, identity, namespace="default", data={"image": image}))
        node["status"] = {"configured": image}
        await api.status.update(node)

    def identity(self, node: dict[str, Any]) -> str:
        return f"{node['metadata']['name']}-configure"


class Fixed(Nodes):
    name = "nodes"

    def identity(self, node: dict[str, Any]) -> str:
        return f"{node['metadata']['name']}-{node['spec']['image']}-configure"


def recorded_unseen(cluster: Cluster) -> bool:
    configured = (cluster.get(NODE, "n").get("status") or {}).get("configured")
    return configured is not None and configured not in [
        submission["data"]["image"] for submission in cluster.list(SUBMISSION)
    ]


node = new_object(NODE, "n", spec={"image": "v1"})
buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[node],
    actions=[update(node, spec={"image": "v2"})],
    properties=[never(recorded_unseen)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
