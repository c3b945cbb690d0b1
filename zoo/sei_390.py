"""sei-k8s-controller: a parent and a task write the image of one node.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/390
Archetype: A11

A SeiNodeDeployment writes the image of its template into its children. A task that updates one node applies
another image to the same field, by force. Each sees the other's value as drift and writes its own again; the
pods never settle and the chain loses its quorum.

Interleaving: parent writes image 1 -> task applies image 2 -> parent writes image 1 -> ...

Fix: one writer: the task changes the template of the parent.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"
NODE = "SeiNode.sei.io/v1"
TASK = "SeiNodeTask.sei.io/v1"


class Deployments(Controller):
    """Keeps the image of the node equal to that of the template."""

    kind = DEPLOYMENT
    watches = {NODE: lambda node, cache: ["default/d"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        node = await api.get(NODE, "default/n")
        if node["spec"]["image"] != deployment["spec"]["image"]:
            node["spec"]["image"] = deployment["spec"]["image"]
            await api.update(node)


class Tasks(Controller):
    """Brings the node to the image of the task."""

    kind = TASK
    watches = {NODE: lambda node, cache: ["default/t"]}
    target = NODE
    key = "default/n"

    async def reconcile(self, request: Request, api: Api) -> None:
        task = await api.get(TASK, request)
        target = await api.get(self.target, self.key)
        if target["spec"]["image"] != task["spec"]["image"]:
            base = deepcopy(target)
            target["spec"]["image"] = task["spec"]["image"]
            await api.patch(target, merge_from(base, lock=True))


class Fixed(Tasks):
    name = "tasks"
    target = DEPLOYMENT
    key = "default/d"


buggy = Scenario(
    controllers=[Deployments(), Tasks()],
    crds=[permissive_crd(DEPLOYMENT), permissive_crd(NODE), permissive_crd(TASK)],
    objects=[
        new_object(DEPLOYMENT, "d", spec={"image": "seid:1"}),
        new_object(NODE, "n", spec={"image": "seid:1"}),
        new_object(TASK, "t", spec={"image": "seid:2"}),
    ],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Deployments(), Fixed()])
