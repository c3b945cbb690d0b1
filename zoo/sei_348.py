"""sei-k8s-controller: a controller deletes the StatefulSet that it has just created.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A4

A node tracks the uid of its StatefulSet. One with another uid is an impostor: it is deleted, and the next
reconcile creates a new one. But the tracked uid stayed as it was, and a task of the plan applied a fresh set in
the same reconcile. For the next one the fresh set was an impostor too. It is a loop only as long as the task
stays pending; otherwise one set is lost.

Interleaving: tracked A, live B: delete B -> the task applies N -> tracked A, live N: delete N

Fix: forget the tracked uid together with the impostor.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, NotFound, Request, new_object, set_controller_reference
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Keeps the set of a node, then lets the plan apply it too."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}
    forgets = False
    #: The task that applies the set is never completed, as while its status writes fail.
    stays_pending = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        status = dict(node["status"])
        if await self.sync(node, status, api):
            status["tracked"] = (await self.apply(node, api))["metadata"]["uid"]
        if status["task"] == "Pending":
            await self.apply(node, api)
            if not self.stays_pending:
                status["task"] = "Complete"
        if node["status"] != status:
            node["status"] = status
            await api.status.update(node)

    async def sync(self, node: dict[str, Any], status: dict[str, Any], api: Api) -> bool:
        """Delete an impostor; returns False if there was one."""
        with suppress(NotFound):
            live = await api.live.get(SET, "default/n")
            if status["tracked"] and live["metadata"]["uid"] != status["tracked"]:
                await api.delete(live)
                if self.forgets:
                    status["tracked"] = ""
                return False
        return True

    async def apply(self, node: dict[str, Any], api: Api) -> dict[str, Any]:
        stateful_set = new_object(SET, "n", namespace="default", labels={"by": "controller"}, spec={"image": "seid:1"})
        set_controller_reference(node, stateful_set)
        return await api.apply(stateful_set)


class Pending(Nodes):
    name = "nodes"
    stays_pending = True


class Fixed(Nodes):
    name = "nodes"
    forgets = True


class FixedPending(Fixed):
    name = "nodes"
    stays_pending = True


def deletes_its_own_set(before: Cluster, after: Cluster) -> bool:
    own = [stateful_set for stateful_set in before.list(SET) if stateful_set["metadata"].get("labels")]
    return bool(own) and not after.list(SET)


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[
        new_object(NODE, "n", spec={}, status={"tracked": "a-former-one", "task": "Pending"}),
        new_object(SET, "n", spec={"image": "other"}),
    ],
    properties=[never(deletes_its_own_set)],
    guards=Guards.off(),
)
buggy_pending = replace(buggy, controllers=[Pending()])
fixed = replace(buggy, controllers=[Fixed()], properties=[])
fixed_pending = replace(buggy, controllers=[FixedPending()], properties=[])
