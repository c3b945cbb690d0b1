"""omni: one machine is allocated to two sets.

Link: https://github.com/siderolabs/omni/issues/384
Archetype: A4

The controller picks a free machine from its cached list and writes its owner on it. The next set was reconciled
before the cache showed that, and got the same machine. Both sets recorded it as theirs.

Interleaving: a lists m1, m2 free, takes m1 -> b lists m1 still free, takes m1

Fix: write the owner with the resourceVersion of the machine that was read; a conflict starts over.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SET = "MachineSet.omni.example.com/v1"
MACHINE = "Machine.omni.example.com/v1"


class Allocations(Controller):
    """Gives each set a machine of its own."""

    kind = SET
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        machine_set = await api.live.get(SET, request)
        if (machine_set.get("status") or {}).get("machine"):
            return
        machines = await api.list(MACHINE, namespace=request.namespace)
        own = [machine for machine in machines if machine["spec"].get("set") == request.name]
        free = [machine for machine in machines if not machine["spec"].get("set")]
        if not own and not free:
            return
        machine = (own or free)[0]
        base = deepcopy(machine)
        machine["spec"]["set"] = request.name
        await api.patch(machine, merge_from(base, lock=self.locked))
        machine_set["status"] = {"machine": machine["metadata"]["name"]}
        await api.status.update(machine_set)


class Fixed(Allocations):
    name = "allocations"
    locked = True


buggy = Scenario(
    controllers=[Allocations()],
    crds=[permissive_crd(SET), permissive_crd(MACHINE)],
    objects=[new_object(SET, name) for name in ("a", "b")] + [new_object(MACHINE, f"m{at}", spec={}) for at in (1, 2)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
