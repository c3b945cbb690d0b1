"""cluster-api: a MachineSet creates more machines than it has replicas.

Link: https://github.com/kubernetes-sigs/cluster-api/issues/245
Archetype: A4

The MachineSet controller lists its machines from the cache and creates the difference to spec.replicas, with
generated names. A second reconcile that starts before the cache has the machines of the first one counts too
few and creates them again.

Interleaving: list 0 machines, create one -> the event of the set triggers the next reconcile -> the cache still
has 0 machines -> create another one

Fix: never count from a cache that lacks the controller's own machines. The project waits for the cache; listing
from the server before a create has the same effect.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SET = "MachineSet.cluster.k8s.io/v1"
MACHINE = "Machine.cluster.k8s.io/v1"


class MachineSets(Controller):
    """Creates missing machines, then reports their number."""

    kind = SET
    owns = (MACHINE,)

    async def reconcile(self, request: Request, api: Api) -> None:
        machine_set = await api.get(SET, request)
        machines = await self.machines(request, api)
        for _ in range(machine_set["spec"]["replicas"] - len(machines)):
            machine = new_object(MACHINE, generate_name="m-", namespace=request.namespace)
            set_controller_reference(machine_set, machine)
            await api.create(machine)
        machine_set["status"] = {"replicas": machine_set["spec"]["replicas"]}
        await api.status.update(machine_set)

    async def machines(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.list(MACHINE, namespace=request.namespace)


class Fixed(MachineSets):
    name = "machinesets"

    async def machines(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.live.list(MACHINE, namespace=request.namespace)


buggy = Scenario(
    controllers=[MachineSets()],
    crds=[permissive_crd(SET), permissive_crd(MACHINE)],
    objects=[new_object(SET, "s", spec={"replicas": 1})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
