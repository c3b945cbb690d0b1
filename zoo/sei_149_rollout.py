"""sei-k8s-controller: an old rollout writes into the new one.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/149
Archetype: A7

A task of a blue-green rollout switches the traffic: it stores the revision of the new nodes in status.rollout,
with a merge patch that has no resourceVersion. While it was under way, a new spec superseded the rollout. The
patch of the old rollout landed in the new one, whose selector then pointed at nodes that were about to be torn
down.

Interleaving: old leader reads rollout to v2 -> new leader stores the rollout to v3 -> old leader patches
incumbentRevision=v2

Fix: lock the patch.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario, update
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"


class Deployments(Controller):
    """Starts or supersedes a rollout; the next reconcile switches its traffic."""

    kind = DEPLOYMENT
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        deployment = await api.get(DEPLOYMENT, request)
        rollout = (deployment.get("status") or {}).get("rollout") or {}
        target = deployment["spec"]["image"]
        base = deepcopy(deployment)
        if rollout.get("target") != target:
            deployment["status"] = {"rollout": {"target": target, "incumbent": rollout.get("incumbent", "v1")}}
            await api.status.patch(deployment, merge_from(base, lock=True))
        elif rollout["incumbent"] != target:
            deployment["status"]["rollout"]["incumbent"] = target
            await api.status.patch(deployment, merge_from(base, lock=self.locked))


class Fixed(Deployments):
    name = "deployments"
    locked = True


status = {"rollout": {"target": "v2", "incumbent": "v1"}}
deployment = new_object(DEPLOYMENT, "d", spec={"image": "v2"}, status=status)
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT)],
    objects=[deployment],
    actions=[update(deployment, spec={"image": "v3"})],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
