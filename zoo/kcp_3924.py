"""kcp: two controllers overwrite each other's conditions of a LogicalCluster.

Link: https://github.com/kcp-dev/kcp/issues/3924
Archetype: A7

The initializer and the controller of API bindings both maintain conditions of one LogicalCluster. Each commits
the list that it computed from its copy. The last writer wins, and the condition of the other one is back to an
earlier value.

Interleaving: both read Initialized=False -> bindings write BindingsReady=True -> the initializer writes its
list, without BindingsReady

Fix: apply each condition under a field manager of its own, so that the server merges the list by type.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, get_condition, merge_from, new_object, set_condition
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "LogicalCluster.core.kcp.io/v1"
NOW = "2026-01-01T00:00:00Z"
CONDITIONS: dict[str, Any] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


class Initializer(Controller):
    """Maintains one condition."""

    kind = CLUSTER
    condition = "Initialized"

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        if get_condition(cluster, self.condition) is None:
            await self.store(cluster, api)

    async def store(self, cluster: dict[str, Any], api: Api) -> None:
        base = deepcopy(cluster)
        set_condition(cluster, self.condition, True, "Done", now=NOW)
        await api.status.patch(cluster, merge_from(base))


class Bindings(Initializer):
    condition = "BindingsReady"


class Applied(Initializer):
    name = "initializer"

    async def store(self, cluster: dict[str, Any], api: Api) -> None:
        condition = {"type": self.condition, "status": "True", "reason": "Done", "lastTransitionTime": NOW}
        await api.status.apply(new_object(CLUSTER, "lc", namespace="default", status={"conditions": [condition]}))


class AppliedBindings(Applied):
    name = "bindings"
    condition = "BindingsReady"


definition = permissive_crd(CLUSTER)
definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {
    "status": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"conditions": CONDITIONS},
    }
}
buggy = Scenario(
    controllers=[Initializer(), Bindings()],
    crds=[definition],
    objects=[new_object(CLUSTER, "lc", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Applied(), AppliedBindings()])
