"""crossplane: two parts of one controller flip the readiness of a resource.

Link: https://github.com/crossplane/crossplane/issues/7062
Archetype: A10

The status of a composite resource is computed from the conditions of its composed resource. One pass finds the
composed resource not yet ready in its view and stores Ready=Unknown; the readiness check of the composed kind
stores Ready=True. Each write wakes the other one, ten times a second, until a circuit breaker stops them.

Interleaving: composer stores Unknown -> checker stores True -> composer, triggered, stores Unknown -> ...

Fix: the composer keeps a readiness that it did not compute itself.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

COMPOSITE = "XBucket.example.crossplane.io/v1"


class Composer(Controller):
    """Composes resources; their readiness is not known to it."""

    kind = COMPOSITE

    async def reconcile(self, request: Request, api: Api) -> None:
        composite = await api.get(COMPOSITE, request)
        status = composite.get("status") or {}
        wanted = {**status, "composed": 1, "ready": self.readiness(status)}
        if status != wanted:
            composite["status"] = wanted
            await api.status.update(composite)

    def readiness(self, status: dict[str, Any]) -> str:
        return "Unknown"


class Checker(Controller):
    """Checks the composed resources."""

    kind = COMPOSITE

    async def reconcile(self, request: Request, api: Api) -> None:
        composite = await api.get(COMPOSITE, request)
        status = composite.get("status") or {}
        if status.get("composed") and status.get("ready") != "True":
            composite["status"] = {**status, "ready": "True"}
            await api.status.update(composite)


class Fixed(Composer):
    name = "composer"

    def readiness(self, status: dict[str, Any]) -> str:
        return str(status.get("ready", "Unknown"))


buggy = Scenario(
    controllers=[Composer(), Checker()],
    crds=[permissive_crd(COMPOSITE)],
    objects=[new_object(COMPOSITE, "x", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Checker()])
