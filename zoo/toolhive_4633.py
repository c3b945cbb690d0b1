"""toolhive: the operator and the reporter replace each other's conditions.

Link: https://github.com/stacklok/toolhive/issues/4633
Archetype: A7

The operator and a reporter inside of the workload both write conditions of one VirtualMCPServer. The helper
that was meant to protect them computes a merge patch without a resourceVersion. Conditions are a list, and a
merge patch replaces a list whole: a condition that the other writer added since the copy was read disappears.

Interleaving: both read conditions [] -> operator patches [Ready] -> reporter patches [BackendsDiscovered] ->
Ready is gone

Fix: lock the patch by the resourceVersion of the copy, and read again after a conflict.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, get_condition, merge_from, new_object, set_condition
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "VirtualMCPServer.toolhive.stacklok.dev/v1"


class Operator(Controller):
    """Sets one condition through the patch helper."""

    kind = SERVER
    condition = "Ready"
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        server = await api.get(SERVER, request)
        if get_condition(server, self.condition) is None:
            base = deepcopy(server)
            set_condition(server, self.condition, "True", "Observed", now=api.now())
            await self.store(server, base, api)

    async def store(self, server: dict[str, Any], base: dict[str, Any], api: Api) -> None:
        await api.status.patch(server, merge_from(base, lock=self.locked))


class Reporter(Operator):
    """Runs in the workload and reads the server."""

    condition = "BackendsDiscovered"


class LockedOperator(Operator):
    name = "operator"
    locked = True


class LockedReporter(Reporter):
    name = "reporter"
    locked = True


class UpdatingOperator(Operator):
    """The operator before the helper: an update carries the resourceVersion, and a stale one is refused."""

    name = "operator"

    async def store(self, server: dict[str, Any], base: dict[str, Any], api: Api) -> None:
        await api.status.update(server)


class UpdatingReporter(UpdatingOperator):
    name = "reporter"
    condition = "BackendsDiscovered"


buggy = Scenario(
    controllers=[Operator(), Reporter()],
    crds=[permissive_crd(SERVER)],
    objects=[new_object(SERVER, "s", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[LockedOperator(), LockedReporter()])
fixed_update = replace(buggy, controllers=[UpdatingOperator(), UpdatingReporter()])
