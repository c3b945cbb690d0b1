"""sei-k8s-controller: a stale node makes a controller delete its own StatefulSet.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A4

Still in the fixed code. The controller recreates a StatefulSet and stores its uid. The next reconcile is
triggered by the event of the new set, which can arrive before that of the node: it reads the old uid, takes the
set for an impostor and deletes it. The lock on the status does not help, because the delete comes before the
write that would be refused.

Interleaving: create N, store uid N -> the event of N arrives -> cached node: tracked A, live N: delete N -> 409

Fix: a set that is controlled by this node is its own, whatever uid is tracked.
"""

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

from kontend import (
    Api,
    Cluster,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    merge_from,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Deletes an impostor, or applies the set; stores the uid of the set with a locked patch."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}
    adopts = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        base = deepcopy(node)
        tracked, uid = node["status"]["tracked"], ""
        with suppress(NotFound):
            live = await api.get(SET, "default/n")
            if live["metadata"]["uid"] != tracked and not (self.adopts and is_controlled_by(live, node)):
                await api.delete(live, uid=live["metadata"]["uid"])
                tracked = ""
        if tracked or base["status"]["tracked"] == "":
            stateful_set = new_object(SET, "n", namespace="default", spec={"image": "seid:1"})
            set_controller_reference(node, stateful_set)
            uid = (await api.apply(stateful_set))["metadata"]["uid"]
        node["status"]["tracked"] = uid
        if node != base:
            await api.status.patch(node, merge_from(base, lock=True))


class Fixed(Nodes):
    name = "nodes"
    adopts = True


def deletes_a_set(before: Cluster, after: Cluster) -> bool:
    return bool(before.list(SET)) and not after.list(SET)


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[new_object(NODE, "n", spec={}, status={"tracked": "one-that-is-gone"})],
    properties=[never(deletes_a_set)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
