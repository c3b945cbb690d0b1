"""sei-k8s-controller: a recreated deployment is marked as terminating.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/149
Archetype: A1

When a deployment is being deleted, the controller stores the phase Terminating and removes its finalizer, both
with merge patches by name and without a lock. From an old copy they hit the object that was created under the
same name since: it is marked as terminating, and its finalizer is gone.

Interleaving: user deletes d, the controller finishes it -> user creates d -> controller restarts, reads the old
d -> patches phase and finalizers of the new d

Fix: lock both patches.
"""

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, NotFound, Request, merge_from, new_object
from kontend.explore import Scenario, create, delete
from kontend.testing import permissive_crd

DEPLOYMENT = "SeiNodeDeployment.sei.io/v1"


class Deployments(Controller):
    """Ends a deployment that is being deleted."""

    kind = DEPLOYMENT
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            deployment = await api.get(DEPLOYMENT, request)
            if not deployment["metadata"].get("deletionTimestamp"):
                return
            base = deepcopy(deployment)
            deployment["status"] = {"phase": "Terminating"}
            await api.status.patch(deployment, merge_from(base, lock=self.locked))
            base = deepcopy(deployment)
            deployment["metadata"]["finalizers"] = []
            await api.patch(deployment, merge_from(base, lock=self.locked))


class Fixed(Deployments):
    name = "deployments"
    locked = True


d = new_object(DEPLOYMENT, "d", finalizers=["sei.io/deployment"], spec={})
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT)],
    objects=[d],
    actions=[delete(d), create(d)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
