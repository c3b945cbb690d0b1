"""Kubernetes: a controller manager that lost its lease never stops.

Link: https://github.com/kubernetes/kubernetes/issues/23731
Archetype: A12

When the renewal of a lease failed, the callback that ends the process was not called. The old leader went on
with its loops beside the new one. Here the loop binds claims to volumes: both leaders found a claim without a
volume and reserved one for it; the reservation of the slower one replaced that of the other, which leaked.

Interleaving: both read a claim without a volume -> the new leader stores its reservation -> the old leader
stores its own, without a lock

Fix: writes carry the resourceVersion that the decision was made from.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd

CLAIM = "VolumeClaim.example.com/v1"
VOLUME = "Volume.example.com/v1"


class Binder(Controller):
    """Reserves a volume for a claim that has none."""

    kind = CLAIM
    watches = {VOLUME: lambda volume, cache: []}
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        claim = await api.get(CLAIM, request)
        if (claim.get("status") or {}).get("volume"):
            return
        volumes = await api.live.list(VOLUME, namespace="default")
        base = deepcopy(claim)
        claim["status"] = {"volume": f"{volumes[-1]['metadata']['name']}/{api.uuid()}"}
        await api.status.patch(claim, merge_from(base, lock=self.locked))


class Fixed(Binder):
    name = "binder"
    locked = True


buggy = Scenario(
    controllers=[Binder()],
    crds=[permissive_crd(CLAIM), permissive_crd(VOLUME)],
    objects=[new_object(CLAIM, "c", spec={}), new_object(VOLUME, "v", spec={})],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
