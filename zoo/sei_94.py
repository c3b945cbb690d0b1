"""sei-k8s-controller: an update that is done stays in progress.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/94
Archetype: A6

The executor of a plan removes it when its last task is complete. The planner, which runs in the next reconcile,
ends the condition NodeUpdateInProgress when it sees a plan that is complete. It never sees one.

Interleaving: executor completes the plan and removes it, in one write -> planner: no plan, nothing to end -> in
progress forever

Fix: the executor leaves the complete plan; the planner ends the condition and removes the plan in one write.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"


class Nodes(Controller):
    """Executes the plan of a node; a complete plan ends the update."""

    kind = NODE
    keeps_plan = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        before, status = node["status"], dict(node["status"])
        if status.get("plan") == "Complete":
            status["plan"], status["updateInProgress"] = None, False
        elif status.get("plan") == "Active":
            status["plan"] = "Complete" if self.keeps_plan else None
        if status != before:
            node["status"] = status
            await api.status.update(node)


class Fixed(Nodes):
    name = "nodes"
    keeps_plan = True


def update_ends(cluster: Cluster) -> bool:
    return not cluster.get(NODE, "n")["status"]["updateInProgress"]


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, "n", spec={}, status={"plan": "Active", "updateInProgress": True})],
    properties=[eventually(update_ends)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
