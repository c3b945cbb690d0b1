"""cluster-api: a MachineDeployment creates three MachineSets.

Link: https://github.com/kubernetes-sigs/cluster-api/issues/13649
Archetype: A4

After it had created a MachineSet, the controller waited for the cache to show it. Under load the wait timed out
and the request was queued again. The next reconcile listed the MachineSets from the same cache, found none, and
created a second one under another name, then a third.

Interleaving: list 0 sets -> create a -> the cache does not show a, requeue -> list 0 sets -> create b

Fix: look for the set on the server before creating one.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, Result, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DEPLOYMENT = "MachineDeployment.cluster.x-k8s.io/v1"
SET = "MachineSet.cluster.x-k8s.io/v1"


class Deployments(Controller):
    """Creates the MachineSet of a deployment and waits for the cache to show it."""

    kind = DEPLOYMENT
    owns = (SET,)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        deployment = await api.get(DEPLOYMENT, request)
        if await self.sets(request, api):
            return None
        machine_set = new_object(SET, generate_name="md-", namespace=request.namespace, spec=deployment["spec"])
        set_controller_reference(deployment, machine_set)
        await api.create(machine_set)
        try:
            await api.get(SET, f"{request.namespace}/{machine_set['metadata']['name']}")
        except NotFound:
            return Result(requeue=True)
        return None

    async def sets(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.list(SET, namespace=request.namespace)


class Fixed(Deployments):
    name = "deployments"

    async def sets(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.list(SET, namespace=request.namespace) or await api.live.list(SET, namespace=request.namespace)


buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT), permissive_crd(SET)],
    objects=[new_object(DEPLOYMENT, "md", spec={"replicas": 3})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
