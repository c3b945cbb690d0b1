"""sei-k8s-controller: two reconciles build two plans.

Link: https://github.com/sei-protocol/sei-k8s-controller/issues/147
Archetype: A12

A node without a plan gets one: the reconciler makes up an id, writes the plan to the status and submits its
tasks under that id. During a hand-over of leadership two instances did that at once. The status patch had no
resourceVersion, so the second plan replaced the first, whose tasks went on running under an id that nobody knew
any more.

Interleaving: both read plan=nil -> the first writes plan 1 -> the second writes plan 2

Fix: lock every status patch by the resourceVersion of the copy that the plan was built from.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"


class Nodes(Controller):
    """Stores a plan before anything else, with a merge patch that has no lock."""

    kind = NODE

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        if not (node.get("status") or {}).get("plan"):
            await self.store(node, {"plan": {"id": api.uuid(), "phase": "Active", "tasks": ["apply"]}}, api)

    async def store(self, node: dict[str, Any], status: dict[str, Any], api: Api) -> None:
        base = deepcopy(node)
        node["status"] = status
        await api.status.patch(node, merge_from(base))


class Applied(Nodes):
    """Applies the status: server-side apply with force has no lock either."""

    name = "nodes"

    async def store(self, node: dict[str, Any], status: dict[str, Any], api: Api) -> None:
        name, namespace = node["metadata"]["name"], node["metadata"]["namespace"]
        await api.status.apply(new_object(NODE, name, namespace=namespace, status=status), force=True)


class Fixed(Nodes):
    name = "nodes"

    async def store(self, node: dict[str, Any], status: dict[str, Any], api: Api) -> None:
        base = deepcopy(node)
        node["status"] = status
        await api.status.patch(node, merge_from(base, lock=True))


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[new_object(NODE, "n", spec={"image": "seid:1"})],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
buggy_apply = replace(buggy, controllers=[Applied()])
fixed = replace(buggy, controllers=[Fixed()])
