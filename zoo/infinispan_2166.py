"""infinispan-operator: a patch from a stale copy overwrites the status.

Link: https://github.com/infinispan/infinispan-operator/issues/2166
Archetype: A7

The operator computed the whole status from its copy of the Infinispan resource and patched it without a
resourceVersion. The configuration listener had stored a new state in between; the patch put the old value back.

Interleaving: operator reads security=Pending -> listener writes security=Applied -> operator patches pods=1,
security=Failed, computed from Pending

Fix: lock the patch by the resourceVersion of the copy.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

INFINISPAN = "Infinispan.infinispan.org/v1"


class Operator(Controller):
    """Gives up on a security configuration that is still pending when the pods are there."""

    kind = INFINISPAN
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        infinispan = await api.get(INFINISPAN, request)
        status = infinispan.get("status") or {}
        if status.get("pods"):
            return
        base = deepcopy(infinispan)
        infinispan["status"] = {**status, "pods": 1, "security": status.get("security") or "Failed"}
        await api.status.patch(infinispan, merge_from(base, lock=self.locked))


class Listener(Controller):
    """Applies the security configuration."""

    kind = INFINISPAN

    async def reconcile(self, request: Request, api: Api) -> None:
        infinispan = await api.live.get(INFINISPAN, request)
        if (infinispan.get("status") or {}).get("security") is None:
            infinispan.setdefault("status", {})["security"] = "Applied"
            await api.status.update(infinispan)


class Fixed(Operator):
    name = "operator"
    locked = True


buggy = Scenario(
    controllers=[Operator(), Listener()],
    crds=[permissive_crd(INFINISPAN)],
    objects=[new_object(INFINISPAN, "i", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Listener()])
