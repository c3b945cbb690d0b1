"""sei-k8s-controller: a plan is executed before it is stored.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/91
Archetype: A2

A reconcile built a plan with a fresh id, executed its first task under that id, and stored the plan in its last
write. A crash or a conflict in between lost the plan, but not the effect of the task; the next reconcile built
another plan, with another id, and did it all again.

Interleaving: plan 1, submit task 1/apply -> crash -> no plan is stored -> plan 2, submit task 2/apply

Fix: store a new plan and end the reconcile; execute it in the next one.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
TASK = "ConfigMap/v1"  # a task that was submitted to the sidecar


class Nodes(Controller):
    """Builds a plan and executes it."""

    kind = NODE
    stores_first = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        plan = (node.get("status") or {}).get("plan")
        if plan is None:
            plan = {"id": api.uuid(), "phase": "Active"}
            node["status"] = {"plan": plan}
            if self.stores_first:
                await api.status.update(node)
                return
        if plan["phase"] == "Active":
            with suppress(AlreadyExists):
                await api.create(new_object(TASK, f"{plan['id']}-apply", namespace="default"))
            node["status"]["plan"]["phase"] = "Complete"
            await api.status.update(node)


class Fixed(Nodes):
    name = "nodes"
    stores_first = True


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, "n", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
