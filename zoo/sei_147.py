"""sei-k8s-controller: two reconciles build two plans.

Link: https://github.com/sei-protocol/sei-k8s-controller/issues/147
Archetype: A12

A node without a plan gets one: the reconciler makes up an id, writes the plan to the status and submits its
tasks under that id. During a hand-over of leadership two instances did that at once. The status patch had no
resourceVersion, so the second plan replaced the first, whose tasks went on running under an id that nobody knew
any more.

Interleaving: both read plan=nil -> the first writes plan 1 -> the second writes plan 2

Fix: lock every status patch by the resourceVersion of the copy that the plan was built from.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"


class Nodes(Controller):
    """Stores a plan before anything else."""

    kind = NODE
    locked = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        if (node.get("status") or {}).get("plan"):
            return
        base = deepcopy(node)
        node["status"] = {"plan": {"id": api.uuid(), "phase": "Active", "tasks": ["apply-statefulset"]}}
        await api.status.patch(node, merge_from(base, lock=self.locked))


class Fixed(Nodes):
    name = "nodes"
    locked = True


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, "n", spec={"image": "seid:1"})],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
