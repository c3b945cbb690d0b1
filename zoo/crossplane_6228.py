"""crossplane: the claim reconciler and the syncer fight over conditions.

Link: https://github.com/crossplane/crossplane/issues/6228
Archetype: A11

Custom conditions of a composite resource are copied to its claim. The syncer applied the status of the claim by
server-side apply with all conditions it knew; the claim reconciler replaced the list with its own ones. Both
used force, both had something to change each time.

Interleaving: syncer applies [Synced, Custom] -> reconciler replaces the list with [Synced] -> syncer applies
again -> ...

Fix: the reconciler keeps the conditions that are not its own.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLAIM = "Claim.example.crossplane.io/v1"
CUSTOM = {"type": "DatabaseReady", "status": "True"}
SYNCED = {"type": "Synced", "status": "True"}


class Claims(Controller):
    """Sets the conditions of a claim."""

    kind = CLAIM

    async def reconcile(self, request: Request, api: Api) -> None:
        claim = await api.get(CLAIM, request)
        conditions = (claim.get("status") or {}).get("conditions") or []
        wanted = self.wanted(conditions)
        if conditions != wanted:
            claim["status"] = {"conditions": wanted}
            await api.status.update(claim)

    def wanted(self, conditions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [SYNCED]


class Syncer(Controller):
    """Copies the conditions of the composite resource to its claim."""

    kind = CLAIM

    async def reconcile(self, request: Request, api: Api) -> None:
        status = {"conditions": [SYNCED, CUSTOM]}
        await api.status.apply(new_object(CLAIM, request.name, namespace=request.namespace, status=status), force=True)


class Fixed(Claims):
    name = "claims"

    def wanted(self, conditions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [SYNCED, *(condition for condition in conditions if condition["type"] != "Synced")]


buggy = Scenario(
    controllers=[Claims(), Syncer()],
    crds=[permissive_crd(CLAIM)],
    objects=[new_object(CLAIM, "c", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Syncer()])
