"""sei-k8s-controller: defaulted fields keep a rollout from ever finishing.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/345
Archetype: A10

The controller compared the rendered template with the stored one and updated the StatefulSet when they
differed. The server had filled in defaults, so they always did. Each update stored the template without them,
got them back, and raised the generation with a label that counted updates; the observed generation never caught
up and the rollout never finished.

Interleaving: update the template, generation 2 -> the server defaults it -> they differ, update again,
generation 3 -> ...

Fix: server-side apply, which compares only the fields that are applied.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SET = "Workload.sei.io/v1"  # stands for the StatefulSet
TEMPLATE: dict[str, Any] = {"image": "seid:1"}


class Nodes(Controller):
    """Keeps the template of the set equal to the rendered one."""

    kind = NODE
    watches = {SET: lambda stateful_set, cache: ["default/n"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        stateful_set = await api.get(SET, "default/n")
        if stateful_set["spec"]["template"] != TEMPLATE:
            stateful_set["spec"]["template"] = TEMPLATE
            stateful_set["spec"]["updates"] = not stateful_set["spec"].get("updates", False)
            await api.update(stateful_set)


class Fixed(Nodes):
    name = "nodes"

    async def reconcile(self, request: Request, api: Api) -> None:
        await api.apply(new_object(SET, "n", namespace="default", spec={"template": TEMPLATE}))


definition = permissive_crd(SET)
definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {
    "spec": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {
            "template": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"restartPolicy": {"type": "string", "default": "Always"}},
            }
        },
    }
}
buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE), definition],
    objects=[new_object(NODE, "n", spec={}), new_object(SET, "n", spec={"template": TEMPLATE})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
