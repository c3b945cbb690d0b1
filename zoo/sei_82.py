"""sei-k8s-controller: every reconcile conflicts with itself.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/82
Archetype: A5

A reconcile takes a snapshot and locks its last status patch to the version of that. In between, the executor of the
plan patches the same status. So the last patch names a version that the reconcile itself has replaced: 409, this time
and every time, and the deployment is upgrading forever.

Interleaving: snapshot at 10 -> the executor patches: 11 -> patch locked to 10: 409 -> the next reconcile does the same

Fix: one snapshot, one patch at the end, and nothing in between.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"


class Deployments(Controller):
    """Executes the plan, then completes it."""

    kind = DEPLOYMENT
    patches_once = False

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.live.get(DEPLOYMENT, request)
        if deployment["status"]["phase"] == "Ready":
            return
        base = deepcopy(deployment)
        deployment["status"]["task"] = "Complete" if deployment["status"]["task"] == "Running" else "Running"
        if not self.patches_once:
            await api.status.patch(deployment, merge_from(base))
        deployment["status"]["phase"] = "Ready"
        await api.status.patch(deployment, merge_from(base, lock=True))


class Fixed(Deployments):
    name = "deployments"
    patches_once = True


buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT)],
    objects=[new_object(DEPLOYMENT, "d", spec={}, status={"phase": "Upgrading", "task": "Running"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
