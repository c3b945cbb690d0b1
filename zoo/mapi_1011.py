"""machine-api-operator: a machine gets a second instance.

Link: https://github.com/openshift/machine-api-operator/issues/1011
Archetype: A4

The actuator created an instance and stored its id in the status of the Machine. A reconcile that still read the
Machine without the id created another instance. The first one ran on, unknown and paid for.

Interleaving: instanceID empty -> create instance a, store its id -> reconcile with the old Machine -> create
instance b

Fix: look up the instances that carry the machine's tag before creating one.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

MACHINE = "Machine.machine.openshift.io/v1"
INSTANCE = "Instance.cloud.example.com/v1"


class Machines(Controller):
    """Marks the machine as provisioning, creates an instance once, stores its id."""

    kind = MACHINE

    async def reconcile(self, request: Request, api: Api) -> None:
        machine = await api.get(MACHINE, request)
        status = machine.setdefault("status", {})
        if status.get("instanceID"):
            return
        if status.get("phase") != "Provisioning":
            status["phase"] = "Provisioning"
            await api.status.update(machine)
        instance = await self.existing(request, api)
        if instance is None:
            instance = new_object(INSTANCE, generate_name="i-", namespace="default", labels={"machine": request.name})
            await api.create(instance)
        machine["status"]["instanceID"] = instance["metadata"]["name"]
        await api.status.update(machine)

    async def existing(self, request: Request, api: Api) -> dict[str, Any] | None:
        return None


class Fixed(Machines):
    name = "machines"

    async def existing(self, request: Request, api: Api) -> dict[str, Any] | None:
        instances = await api.live.list(INSTANCE, namespace="default", labels={"machine": request.name})
        return instances[0] if instances else None


buggy = Scenario(
    controllers=[Machines()],
    crds=[permissive_crd(MACHINE), permissive_crd(INSTANCE)],
    objects=[new_object(MACHINE, "m", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
