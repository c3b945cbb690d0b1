"""sei-k8s-controller: a node mounts a volume that belongs to somebody else.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/113
Archetype: A11

The task that makes sure that a node has its claim creates it and takes "exists already" for success. A claim of
that name that somebody else had made passed for the node's own, and the node started on foreign data.

Interleaving: another user creates claim n -> create claim n: AlreadyExists, done -> the node runs on it

Fix: read the claim that exists, and fail unless the node controls it.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import (
    AlreadyExists,
    Api,
    Cluster,
    Controller,
    Guards,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, create, never
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
CLAIM = "ConfigMap/v1"  # stands for the PersistentVolumeClaim


class Nodes(Controller):
    """Makes sure that the node has a claim, then starts it."""

    kind = NODE
    checks_owner = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        claim = new_object(CLAIM, "n", namespace="default")
        set_controller_reference(node, claim)
        with suppress(AlreadyExists):
            await api.create(claim)
        phase = "Running"
        if self.checks_owner and not is_controlled_by(await api.live.get(CLAIM, "default/n"), node):
            phase = "Failed"
        if node.get("status") != {"phase": phase}:
            node["status"] = {"phase": phase}
            await api.status.update(node)


class Fixed(Nodes):
    name = "nodes"
    checks_owner = True


def runs_on_foreign_data(cluster: Cluster) -> bool:
    running = (cluster.get(NODE, "n").get("status") or {}).get("phase") == "Running"
    return running and any(not claim["metadata"].get("ownerReferences") for claim in cluster.list(CLAIM))


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, "n", spec={})],
    actions=[create(new_object(CLAIM, "n", data={"chain": "another"}))],
    properties=[never(runs_on_foreign_data)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
