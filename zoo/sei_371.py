"""sei-k8s-controller: a parent erases the peers of its children.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/371
Archetype: A10

The genesis ceremony writes the peers that it has found into the spec of each child. The parent copies its
template, which has no peers, over the spec of the child in every reconcile. The ceremony writes them again, and
so on.

Interleaving: ceremony writes peers -> parent writes peers=[] -> ceremony writes peers -> ...

Fix: the parent sets peers only when it creates a child.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"
NODE = "SeiNode.sei.io/v1"


class Deployments(Controller):
    """Keeps the child equal to the template, field by field."""

    kind = DEPLOYMENT
    watches = {NODE: lambda node, cache: ["default/d"]}
    fields: tuple[str, ...] = ("image", "peers")

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        node = await api.get(NODE, "default/n")
        drift = [field for field in self.fields if node["spec"].get(field) != deployment["spec"].get(field)]
        if drift:
            node["spec"] |= {field: deployment["spec"].get(field) for field in drift}
            await api.update(node)


class Ceremony(Controller):
    """Stores the peers of the node."""

    kind = NODE

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        if not node["spec"].get("peers"):
            node["spec"]["peers"] = ["tcp://peer"]
            await api.update(node)


class Fixed(Deployments):
    name = "deployments"
    fields = ("image",)


buggy = Scenario(
    controllers=[Deployments(), Ceremony()],
    crds=[permissive_crd(DEPLOYMENT), permissive_crd(NODE)],
    objects=[
        new_object(DEPLOYMENT, "d", spec={"image": "seid:1", "peers": []}),
        new_object(NODE, "n", spec={"image": "seid:1", "peers": []}),
    ],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Ceremony()])
