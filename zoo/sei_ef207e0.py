"""sei-k8s-controller: traffic goes to a revision that never existed.

Link: https://github.com/sei-protocol/sei-k8s-controller/commit/ef207e0
Archetype: A3

A rollout keeps the traffic on the incumbent nodes until the entrants are up. The revision of the incumbents was taken
to be the generation before the current one. When two changes of the spec arrive as one, that generation was never
rolled out, and the Service selects no nodes at all.

Interleaving: generation 1 is rolled out -> the spec changes twice: generation 3 -> incumbent = 3 - 1 = 2, of which
there are no nodes

Fix: store the revision that was rolled out, and take that.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"


class Deployments(Controller):
    """Rolls a generation out in two steps: the incumbents keep the traffic, then the entrants have it."""

    kind = DEPLOYMENT
    stores_revision = False

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.live.get(DEPLOYMENT, request)
        generation, status = deployment["metadata"]["generation"], dict(deployment["status"])
        if status["entrant"]:
            status.update(nodes=[*status["nodes"], status["entrant"]], traffic=status["entrant"], entrant=0)
        elif status["traffic"] != generation:
            incumbent = status["traffic"] if self.stores_revision else generation - 1
            status.update(traffic=incumbent, entrant=generation)
        else:
            return
        deployment["status"] = status
        await api.status.update(deployment)


class Fixed(Deployments):
    name = "deployments"
    stores_revision = True


def traffic_goes_nowhere(cluster: Cluster) -> bool:
    status = cluster.get(DEPLOYMENT, "d")["status"]
    return status["traffic"] not in status["nodes"]


deployment = new_object(DEPLOYMENT, "d", spec={"image": "v1"}, status={"nodes": [1], "traffic": 1, "entrant": 0})
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT)],
    objects=[deployment],
    actions=[update(deployment, spec={"image": "v2"}), update(deployment, spec={"image": "v3"})],
    properties=[never(traffic_goes_nowhere)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
