"""kubernetes-nmstate: the count of unavailable nodes is never taken back.

Link: https://github.com/nmstate/kubernetes-nmstate/issues/815
Archetype: A5

A handler counts itself as unavailable in the status of the policy, changes the network of its node, and takes
the count back. The network change cut its watch, so the cached policy was older than its own increment. The
decrement was refused, tried again with the same cached copy, refused again, and the error was logged. The
policy counted a node as unavailable for good.

Interleaving: count 1 is stored -> cached policy still has count 0 -> decrement: 409, again: 409, logged

Fix: when all attempts with the cached copy have failed, read the policy from the server.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import Api, Conflict, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

POLICY = "NodeNetworkConfigurationPolicy.nmstate.io/v1"


class Policies(Controller):
    """Applies a policy to the node, and counts the node as unavailable meanwhile."""

    kind = POLICY
    predicates = {POLICY: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        policy = await api.live.get(POLICY, request)
        status = policy.get("status") or {}
        if status.get("applied"):
            return
        if not status.get("unavailable"):
            policy["status"] = {"unavailable": 1}
            await api.status.update(policy)
        await self.decrement(request, api)

    async def decrement(self, request: Request, api: Api) -> None:
        for _ in range(2):
            with suppress(Conflict):  # after the last attempt: log.Error(err, "error decrementing ...")
                await self.store(await api.get(POLICY, request), api)
                return

    async def store(self, policy: dict[str, Any], api: Api) -> None:
        policy["status"] = {"unavailable": 0, "applied": True}
        await api.status.update(policy)


class Fixed(Policies):
    name = "policies"

    async def decrement(self, request: Request, api: Api) -> None:
        try:
            await self.store(await api.get(POLICY, request), api)
        except Conflict:
            await self.store(await api.live.get(POLICY, request), api)


buggy = Scenario(
    controllers=[Policies()],
    crds=[permissive_crd(POLICY, plural="nodenetworkconfigurationpolicies")],
    objects=[new_object(POLICY, "p", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
