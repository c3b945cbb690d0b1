"""sei-k8s-controller: a rollout is announced and never happens.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/81
Archetype: A6

A change of the template is detected by comparing its hash with the stored one, which is updated at the end of
every reconcile unless a plan is in progress. The reconcile that detects a change sets a condition and leaves
the plan to the next one, and its last write stores the new hash. The next one sees no change; the condition
says that a rollout is in progress, forever.

Interleaving: hash differs, set RolloutInProgress -> end of the reconcile: no plan yet, store the new hash ->
hash is equal, no plan is made

Fix: keep the stored hash as long as a plan or a rollout is in progress.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually, update
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"


class Deployments(Controller):
    """Detects a change, then rolls it out."""

    kind = DEPLOYMENT
    guards_rollout = False

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        before = deployment["status"]
        status, image = dict(before), deployment["spec"]["image"]
        if status["hash"] != image and status["rollout"]:
            status.update(rolledOut=image, rollout=False, hash=image)
        elif status["hash"] != image:
            status["rollout"] = True
        if not (self.guards_rollout and status["rollout"]):
            status["hash"] = image
        if status != before:
            deployment["status"] = status
            await api.status.update(deployment)


class Fixed(Deployments):
    name = "deployments"
    guards_rollout = True


def rolled_out(cluster: Cluster) -> bool:
    return bool(cluster.get(DEPLOYMENT, "d")["status"]["rolledOut"] == "v2")


status = {"hash": "v1", "rolledOut": "v1", "rollout": False}
deployment = new_object(DEPLOYMENT, "d", spec={"image": "v1"}, status=status)
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT)],
    objects=[deployment],
    actions=[update(deployment, spec={"image": "v2"})],
    properties=[eventually(rolled_out)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
