"""OpenSandbox: the response to a late patch brings a deleted sandbox back into the cache.

Link: https://github.com/opensandbox-group/OpenSandbox/issues/1673
Archetype: A9

The service keeps its own cache of sandboxes and stores the response to each patch in it. The sandbox was
deleted while the patch was on its way; the response, which still has the object, went into the cache after the
deletion. From then on the service answers for a sandbox that does not exist, and keeps its endpoint.

Interleaving: service patches the sandbox -> user deletes it -> the cache drops it -> the response puts it back

Fix: store a response only if the watch has not seen a newer version or the deletion.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, merge_patch, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

SANDBOX = "Sandbox.opensandbox.io/v1"
ENDPOINT = "ConfigMap/v1"  # the endpoint that the service publishes


class Sandboxes(Controller):
    """Publishes an endpoint for each sandbox in its cache, and removes it with the sandbox."""

    kind = SANDBOX
    memory = ("stored",)
    compares = False

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        sandbox = await self.watched(request, api)
        if sandbox is None:
            sandbox = self.stored or None
        if sandbox is None:
            await self.withdraw(api)
            return
        if not sandbox["metadata"].get("labels"):
            try:
                await api.patch(sandbox, merge_patch({"metadata": {"labels": {"claimed": "true"}}}))
            except NotFound:
                return
            if await self.watched(request, api) is None and not self.compares:
                self.stored = sandbox
        await api.apply(new_object(ENDPOINT, "endpoint", namespace="default", data={"sandbox": request.name}))

    async def watched(self, request: Request, api: Api) -> dict[str, Any] | None:
        try:
            return await api.get(SANDBOX, request)
        except NotFound:
            return None

    async def withdraw(self, api: Api) -> None:
        try:
            await api.delete(new_object(ENDPOINT, "endpoint", namespace="default"))
        except NotFound:
            return


class Fixed(Sandboxes):
    name = "sandboxes"
    compares = True


sandbox = new_object(SANDBOX, "s", spec={})
buggy = Scenario(
    controllers=[Sandboxes()],
    crds=[permissive_crd(SANDBOX, plural="sandboxes")],
    objects=[sandbox],
    actions=[delete(sandbox)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
