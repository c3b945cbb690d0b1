"""crossplane: a composition that is deleted leaves its resources in an error forever.

Link: https://github.com/crossplane/crossplane/issues/7222
Archetype: A6

A composite resource keeps a reference to its composition. When the composition is deleted, the reference
dangles: every reconcile fails to fetch it and is retried, without an end and without a way out in the resource
itself.

Interleaving: composite refers to c -> user deletes c -> fetch c: not found, error, retry -> ...

Fix: report the missing composition in a condition and wait for a change instead of failing. The composition
could also be protected by a finalizer while it is used.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

COMPOSITE = "XBucket.example.crossplane.io/v1"
COMPOSITION = "Composition.apiextensions.crossplane.io/v1"


class Composites(Controller):
    """Renders the composition that a composite resource refers to."""

    kind = COMPOSITE
    watches = {COMPOSITION: lambda composition, cache: ["default/x"]}
    waits = False

    async def reconcile(self, request: Request, api: Api) -> None:
        composite = await api.get(COMPOSITE, request)
        try:
            composition = await api.get(COMPOSITION, f"default/{composite['spec']['compositionRef']}")
        except NotFound:
            if not self.waits:
                raise
            await self.store(composite, {"synced": False, "reason": "CompositionNotFound"}, api)
            return
        await self.store(composite, {"synced": True, "rendered": composition["spec"]["template"]}, api)

    async def store(self, composite: dict[str, Any], status: dict[str, Any], api: Api) -> None:
        if composite.get("status") != status:
            composite["status"] = status
            await api.status.update(composite)


class Fixed(Composites):
    name = "composites"
    waits = True


composition = new_object(COMPOSITION, "c", spec={"template": "bucket"})
buggy = Scenario(
    controllers=[Composites()],
    crds=[permissive_crd(COMPOSITE), permissive_crd(COMPOSITION)],
    objects=[new_object(COMPOSITE, "x", spec={"compositionRef": "c"}), composition],
    actions=[delete(composition)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
