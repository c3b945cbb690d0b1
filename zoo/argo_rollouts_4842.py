"""argo-rollouts: a rollout aborts because its ReplicaSet exists already.

Link: https://github.com/argoproj/argo-rollouts/issues/4842
Archetype: A4

The controller creates the ReplicaSet of a revision under a fixed name. When the server answers AlreadyExists,
it reads the existing one from the cache, to see whether it is the same. The cache was behind and did not have
it; NotFound was taken for a hash collision that cannot be solved, and the rollout was aborted.

Interleaving: create set -> reconcile with a cache without it -> create: AlreadyExists -> cached get: NotFound
-> abort

Fix: read the existing ReplicaSet from the server.
"""

from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

ROLLOUT = "Rollout.argoproj.io/v1"
SET = "Set.argoproj.io/v1"  # stands for the ReplicaSet


class Rollouts(Controller):
    """Makes sure that the set of a rollout exists."""

    kind = ROLLOUT
    owns = (SET,)

    async def reconcile(self, request: Request, api: Api) -> None:
        rollout = await api.get(ROLLOUT, request)
        if (rollout.get("status") or {}).get("abort"):
            return
        if not await api.list(SET, namespace=request.namespace):
            replica_set = new_object(SET, f"{request.name}-1", namespace=request.namespace, spec=rollout["spec"])
            set_controller_reference(rollout, replica_set)
            try:
                await api.create(replica_set)
            except AlreadyExists:
                try:
                    await self.existing(f"{request.namespace}/{request.name}-1", api)
                except NotFound:
                    rollout["status"] = {"abort": True}
                    await api.status.update(rollout)
                    return
        rollout["status"] = {"phase": "Progressing"}
        await api.status.update(rollout)

    async def existing(self, key: str, api: Api) -> dict[str, Any]:
        return await api.get(SET, key)


class Fixed(Rollouts):
    name = "rollouts"

    async def existing(self, key: str, api: Api) -> dict[str, Any]:
        return await api.live.get(SET, key)


buggy = Scenario(
    controllers=[Rollouts()],
    crds=[permissive_crd(ROLLOUT), permissive_crd(SET)],
    objects=[new_object(ROLLOUT, "web", spec={"image": "web:1"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
