"""sei-k8s-controller: an invalid node creates and deletes StatefulSets forever.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A10

Still in the fixed code. The StatefulSet is synchronised early in a reconcile and its uid is stored at the end.
When something in between fails every time, such as the validation of the spec, nothing is ever stored. If the
set is deleted from outside, the controller creates one, fails, finds an impostor, deletes it, fails, finds
none, creates one, and so on.

Interleaving: set is gone, create N -> invalid, nothing stored -> tracked A, live N: delete N -> invalid ->
create M -> ...

Fix: validate before anything is changed.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import Api, BadRequest, Controller, Guards, NotFound, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Synchronises the set, validates the spec, stores the uid of the set."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        uid = await self.sync(node, api)
        if not node["spec"]["mode"]:
            raise BadRequest("spec: exactly one mode is required")
        node["status"]["tracked"] = uid
        await api.status.update(node)

    async def sync(self, node: dict[str, Any], api: Api) -> str:
        with suppress(NotFound):
            live = await api.live.get(SET, "default/n")
            if live["metadata"]["uid"] != node["status"]["tracked"]:
                await api.delete(live)
                return ""
        stateful_set = new_object(SET, "n", namespace="default", spec={"image": "seid:1"})
        set_controller_reference(node, stateful_set)
        return str((await api.apply(stateful_set))["metadata"]["uid"])


class Fixed(Nodes):
    name = "nodes"

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        if not node["spec"]["mode"]:
            if node["status"].get("reason") != "Invalid":
                node["status"]["reason"] = "Invalid"
                await api.status.update(node)
            return
        await super().reconcile(request, api)


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[new_object(NODE, "n", spec={"mode": ""}, status={"tracked": "one-that-is-gone"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
