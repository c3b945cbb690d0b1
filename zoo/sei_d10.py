"""sei-k8s-controller: a blue-green rollout updates the nodes that it should replace.

Link: https://github.com/sei-protocol/sei-k8s-controller/blob/5dba22d/internal/controller/nodedeployment/nodes.go
Archetype: A2

A deployment keeps its nodes equal to the template unless a plan is in progress, and then looks for changes of the
template. The reconcile that detects a rollout has no plan yet: it has just pushed the new image to the incumbents,
which should have kept the traffic until the entrants are up. If it stops there, no plan says that anything happened.

Interleaving: the template changes -> no plan: update the incumbents -> store the plan that should replace them

Fix: detect the rollout and store its plan first; touch no node in that reconcile.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"
NODE = "SeiNode.sei.io/v1"


class Deployments(Controller):
    """Keeps the nodes; a new template gets new nodes."""

    kind = DEPLOYMENT
    plans_first = False

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.live.get(DEPLOYMENT, request)
        status, image = deployment["status"], deployment["spec"]["image"]
        if status["plan"]:
            await api.apply(new_object(NODE, f"n-{image}", namespace="default", spec={"image": image}))
            with suppress(NotFound):
                await api.delete(new_object(NODE, f"n-{status['image']}", namespace="default"))
            deployment["status"] = {"plan": False, "image": image}
            await api.status.update(deployment)
            return
        changed = status["image"] != image
        if not (self.plans_first and changed):
            name = f"n-{status['image']}"
            await api.apply(new_object(NODE, name, namespace="default", spec={"image": image}))
        if changed:
            status["plan"] = True
            await api.status.update(deployment)


class Fixed(Deployments):
    name = "deployments"
    plans_first = True


def updates_an_incumbent(cluster: Cluster) -> bool:
    return any(node["metadata"]["name"] != f"n-{node['spec']['image']}" for node in cluster.list(NODE))


deployment = new_object(DEPLOYMENT, "d", spec={"image": "v1"}, status={"plan": False, "image": "v1"})
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT), permissive_crd(NODE)],
    objects=[deployment, new_object(NODE, "n-v1", spec={"image": "v1"})],
    actions=[update(deployment, spec={"image": "v2"})],
    properties=[never(updates_an_incumbent)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
