"""k0smotron: six machines for one replica.

Link: https://github.com/k0sproject/k0smotron/issues/1534
Archetype: A4

The control plane controller named each machine after a random suffix, recorded the number of machines in its
status, and was triggered again by that status write. The machine was not in the cache by then, so the count was
still too low and another machine with another name was created, up to six of them.

Interleaving: list 0 machines -> create k0s-x7 -> status write triggers a reconcile -> list 0 machines -> create
k0s-p2

Fix: list the machines from the server before creating one.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

PLANE = "K0sControlPlane.controlplane.cluster.x-k8s.io/v1"
MACHINE = "Machine.cluster.x-k8s.io/v1"


class ControlPlanes(Controller):
    """Records that it scales up, then creates the machines that are missing."""

    kind = PLANE
    owns = (MACHINE,)

    async def reconcile(self, request: Request, api: Api) -> None:
        plane = await api.get(PLANE, request)
        machines = await self.machines(request, api)
        missing = plane["spec"]["replicas"] - len(machines)
        for _ in range(missing):
            machine = new_object(MACHINE, generate_name="k0s-", namespace=request.namespace)
            set_controller_reference(plane, machine)
            await api.create(machine)
        plane["status"] = {"version": plane["spec"]["version"], "updatedReplicas": len(machines) + missing}
        await api.status.update(plane)

    async def machines(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.list(MACHINE, namespace=request.namespace)


class Fixed(ControlPlanes):
    name = "controlplanes"

    async def machines(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.live.list(MACHINE, namespace=request.namespace)


buggy = Scenario(
    controllers=[ControlPlanes()],
    crds=[permissive_crd(PLANE), permissive_crd(MACHINE)],
    objects=[new_object(PLANE, "k0s", spec={"replicas": 1, "version": "v1.34"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
