"""sei-k8s-controller: a node takes over a StatefulSet that belongs to somebody else.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/348
Archetype: A11

Still in the fixed code. A node that tracks no set applies its own one, by force. If a set of that name exists,
whoever made it, the apply takes it over: its image is replaced, and its pods with it.

Interleaving: a user creates a set named n -> the node applies n by force -> the user's set runs the node's
image

Fix: look at the owner first, and report a foreign set instead of applying.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import (
    AlreadyExists,
    Api,
    Cluster,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, create, never
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet


class Nodes(Controller):
    """Applies the set of a node."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}
    checks_owner = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get(NODE, request)
        stateful_set = new_object(SET, "n", namespace="default", spec={"image": "seid:1"})
        set_controller_reference(node, stateful_set)
        if self.checks_owner:
            with suppress(NotFound):
                if not is_controlled_by(await api.live.get(SET, "default/n"), node):
                    return
            with suppress(AlreadyExists):
                await api.create(stateful_set)
            return
        await api.apply(stateful_set, force=True)


class Fixed(Nodes):
    name = "nodes"
    checks_owner = True


def takes_over(before: Cluster, after: Cluster) -> bool:
    images = [[stateful_set["spec"]["image"] for stateful_set in cluster.list(SET)] for cluster in (before, after)]
    return images == [["mine:1"], ["seid:1"]]


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), permissive_crd(SET)],
    objects=[new_object(NODE, "n", spec={})],
    actions=[create(new_object(SET, "n", spec={"image": "mine:1"}))],
    properties=[never(takes_over)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
