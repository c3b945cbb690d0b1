"""toolhive: two controllers replace each other's annotations.

Link: https://github.com/stacklok/toolhive/pull/3961
Archetype: A10

The operator compared the annotations of a Deployment with those it wanted and replaced all of them when they
differed. The deployment controller keeps its revision in an annotation. The operator removed it, the deployment
controller added it again, which triggered the operator, in a tight loop.

Interleaving: operator writes {owner} -> deployment controller writes {owner, revision} -> operator writes
{owner} -> ...

Fix: compare only the own annotations, and merge them into those that are there.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
DEPLOYMENT = "Workload.toolhive.stacklok.dev/v1"  # stands for the Deployment
OWN = {"toolhive.stacklok.dev/server": "s"}


class Operator(Controller):
    """Keeps the annotations of the deployment."""

    kind = SERVER
    watches = {DEPLOYMENT: lambda deployment, cache: ["default/s"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, "default/s")
        wanted = self.wanted(deployment["metadata"].get("annotations") or {})
        if deployment["metadata"].get("annotations") != wanted:
            deployment["metadata"]["annotations"] = wanted
            await api.update(deployment)

    def wanted(self, annotations: dict[str, str]) -> dict[str, str]:
        return OWN


class Deployments(Controller):
    """Records the revision, as the deployment controller does."""

    kind = DEPLOYMENT

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        annotations = deployment["metadata"].setdefault("annotations", {})
        if annotations.get("deployment.kubernetes.io/revision") != "1":
            annotations["deployment.kubernetes.io/revision"] = "1"
            await api.update(deployment)


class Fixed(Operator):
    name = "operator"

    def wanted(self, annotations: dict[str, str]) -> dict[str, str]:
        return {**annotations, **OWN}


buggy = Scenario(
    controllers=[Operator(), Deployments()],
    crds=[permissive_crd(SERVER), permissive_crd(DEPLOYMENT)],
    objects=[new_object(SERVER, "s", spec={}), new_object(DEPLOYMENT, "s", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Deployments()])
