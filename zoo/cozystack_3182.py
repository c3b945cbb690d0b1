"""cozystack: an inventory is stored and the readiness is lost.

Link: https://github.com/cozystack/cozystack/issues/3182
Archetype: A6

The source watcher stores the inventory with its digest in one request and the condition Ready in the next one.
The second request failed on a timeout. The next reconcile compared digests, found no drift, and ended; Ready
stayed as it was.

Interleaving: store inventory and digest -> store Ready: timeout -> digest is current, nothing to do

Fix: one request for both.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_patch, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

ARTIFACT = "ArtifactGenerator.source.extensions.fluxcd.io/v1"


class Watchers(Controller):
    """Stores the inventory of a digest and reports it."""

    kind = ARTIFACT
    together = False

    async def reconcile(self, request: Request, api: Api) -> None:
        artifact = await api.live.get(ARTIFACT, request)
        if (artifact.get("status") or {}).get("digest") == artifact["spec"]["digest"]:
            return
        inventory = {"digest": artifact["spec"]["digest"], "inventory": ["a"]}
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        for part in [inventory | ready] if self.together else [inventory, ready]:
            await api.status.patch(artifact, merge_patch({"status": part}))


class Fixed(Watchers):
    name = "watchers"
    together = True


buggy = Scenario(
    controllers=[Watchers()],
    crds=[permissive_crd(ARTIFACT)],
    objects=[new_object(ARTIFACT, "a", spec={"digest": "sha256:1"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
