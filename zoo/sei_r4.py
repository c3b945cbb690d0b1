"""sei-k8s-controller: an impostor is deleted by name after it was replaced.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A1

Still in the fixed code. An impostor is deleted by its name alone. A controller that restarts with a view in
which an earlier set was still there, while the node already tracks a newer one, sees a uid that it does not
track, and deletes: not the set that it has read, which is gone, but the one that runs.

Interleaving: set A is replaced by B, the node tracks B -> controller restarts, cached set: A -> tracked B, live
A: delete by name -> B is gone

Fix: delete with the uid that was read.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, new_object, set_controller_reference
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Deletes an impostor, or applies the set; stores the uid of the set."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        tracked = node["status"]["tracked"]
        with suppress(NotFound):
            live = await api.get(SET, "default/n")
            if tracked not in ("", live["metadata"]["uid"]):
                await self.delete(live, api)
                return
        stateful_set = new_object(SET, "n", namespace="default", spec={"image": "seid:1"})
        set_controller_reference(node, stateful_set)
        uid = (await api.apply(stateful_set))["metadata"]["uid"]
        if tracked != uid:
            node["status"]["tracked"] = uid
            await api.status.update(node)

    async def delete(self, live: dict[str, Any], api: Api) -> None:
        await api.delete(live)


class Fixed(Nodes):
    name = "nodes"

    async def delete(self, live: dict[str, Any], api: Api) -> None:
        await api.delete(live, uid=live["metadata"]["uid"])


stateful_set = new_object(SET, "n", spec={"image": "seid:1"})
buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[new_object(NODE, "n", spec={}, status={"tracked": ""}), stateful_set],
    actions=[delete(stateful_set)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
