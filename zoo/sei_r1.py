"""sei-k8s-controller: a conflict makes a controller delete its own StatefulSet.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A5

Still in the fixed code. The StatefulSet of a node was deleted; the controller creates a new one and stores its
uid at the end of the reconcile. When that write is refused, because somebody changed the node meanwhile, the
new uid is lost. The next reconcile finds a set that is not the tracked one, takes it for an impostor, and
deletes what the controller itself has created.

Interleaving: set is gone, create N -> the node changes -> store uid N: 409 -> tracked A, live N: delete N

Fix: a set that is controlled by this node is its own, whatever uid is tracked.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import (
    Api,
    Cluster,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Deletes an impostor, or applies the set; stores the uid of the set in its last write."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}
    adopts = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        tracked = node["status"]["tracked"]
        uid = ""
        with suppress(NotFound):
            live = await api.live.get(SET, "default/n")
            if tracked and live["metadata"]["uid"] != tracked and not (self.adopts and is_controlled_by(live, node)):
                await api.delete(live)
                tracked = ""
        if tracked or node["status"]["tracked"] == "":
            stateful_set = new_object(SET, "n", namespace="default", spec={"image": "seid:1"})
            set_controller_reference(node, stateful_set)
            uid = (await api.apply(stateful_set))["metadata"]["uid"]
        if node["status"]["tracked"] != uid:
            node["status"]["tracked"] = uid
            await api.status.update(node)


class Fixed(Nodes):
    name = "nodes"
    adopts = True


def deletes_a_set(before: Cluster, after: Cluster) -> bool:
    return bool(before.list(SET)) and not after.list(SET)


node = new_object(NODE, "n", spec={}, status={"tracked": "one-that-is-gone"})
buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[node],
    actions=[update(node, metadata={"labels": {"team": "chain"}})],
    properties=[never(deletes_a_set)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
