"""sei-k8s-controller: a finalizer is added from an old list.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/149
Archetype: A7

Status patches got a lock in #149; the patches that add the controller's finalizer did not. They send the whole
list from the cached copy. Another controller, such as a backup operator, that has added its own one since loses
it.

Interleaving: sei reads [] -> backup writes [backup] -> sei patches [sei]

Fix: lock the patch, as for the status.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, add_finalizer, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

NETWORK = "SeiNetwork.sei.io/v1"


class Networks(Controller):
    """Adds its finalizer before anything else."""

    kind = NETWORK
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        network = await api.get(NETWORK, request)
        base = deepcopy(network)
        add_finalizer(network, "sei.io/network")
        if network != base:
            await api.patch(network, merge_from(base, lock=self.locked))


class Backup(Controller):
    """Another controller with a finalizer, which updates the whole object."""

    kind = NETWORK

    async def reconcile(self, request: Request, api: Api) -> None:
        network = await api.get(NETWORK, request)
        if "example.com/backup" not in (network["metadata"].get("finalizers") or []):
            add_finalizer(network, "example.com/backup")
            await api.update(network)


class Fixed(Networks):
    name = "networks"
    locked = True


buggy = Scenario(
    controllers=[Networks(), Backup()],
    crds=[permissive_crd(NETWORK)],
    objects=[new_object(NETWORK, "n", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Backup()])
