"""OpenSandbox: the response to a late patch brings a deleted sandbox back into the cache.

Link: https://github.com/opensandbox-group/OpenSandbox/issues/1673
Archetype: A9

The service keeps its own cache of sandboxes and stores the response to each patch in it. The sandbox was
deleted while the patch was on its way; the response, which still has the object, went into the cache after the
deletion. From then on the service answers for a sandbox that does not exist, and its proxy still points there.

Interleaving: service patches the sandbox -> user deletes it -> the cache drops it -> the response puts it back

Fix: store a response only if the watch has not seen a newer version or the deletion.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, merge_patch, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

SANDBOX = "Sandbox.opensandbox.io/v1"
PROXY = "Proxy.opensandbox.io/v1"


class Proxies(Controller):
    """Claims the sandbox of a proxy and sends traffic to it as long as it exists."""

    kind = PROXY
    watches = {SANDBOX: lambda sandbox, cache: ["default/p"]}
    memory = ("stored",)
    compares = False

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        sandbox = await self.watched(api) or self.stored or None
        if sandbox is not None and not sandbox["metadata"].get("labels"):
            try:
                await api.patch(sandbox, merge_patch({"metadata": {"labels": {"claimed": "true"}}}))
            except NotFound:
                return
            if await self.watched(api) is None and not self.compares:
                self.stored = sandbox
        proxy = await api.get(PROXY, request)
        target = "" if sandbox is None else sandbox["metadata"]["name"]
        if proxy["spec"]["target"] != target:
            proxy["spec"]["target"] = target
            await api.update(proxy)

    async def watched(self, api: Api) -> dict[str, Any] | None:
        try:
            return await api.get(SANDBOX, "default/s")
        except NotFound:
            return None


class Fixed(Proxies):
    name = "proxies"
    compares = True


sandbox = new_object(SANDBOX, "s", spec={})
buggy = Scenario(
    controllers=[Proxies()],
    crds=[permissive_crd(SANDBOX, plural="sandboxes"), permissive_crd(PROXY, plural="proxies")],
    objects=[sandbox, new_object(PROXY, "p", spec={"target": ""})],
    actions=[delete(sandbox)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
