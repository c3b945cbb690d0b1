"""sei-k8s-controller: a retry takes the result of the attempt before for its own.

Link: https://github.com/sei-protocol/sei-k8s-controller/commit/d0a622a
Archetype: A4

A failed task is set back to Pending and tried again under the same id. The next reconcile asks the sidecar for the
result first: it still has the old one, Failed. The task counts as failed once more, without having been executed. All
retries are used up that way.

Interleaving: execute, Failed -> Pending, retry 1 -> query: Failed, as before -> Pending, retry 2 -> ... -> give up

Fix: execute a pending task, then ask for its result.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
SIDECAR = "ConfigMap/v1"  # the sidecar's record of the task; it succeeds at the second execution


class Nodes(Controller):
    """Executes a task up to three times."""

    kind = NODE
    executes_first = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        status = dict(node["status"])
        if status["task"] != "Pending":
            return
        record = await api.live.get(SIDECAR, "default/task")
        if self.executes_first or not record["data"]["result"]:
            record = await self.execute(record, api)
        if record["data"]["result"] == "Completed":
            status.update(task="Complete", retries=0)
        elif status["retries"] == 3:
            status["task"] = "Failed"
        else:
            status["retries"] += 1
        node["status"] = status
        await api.status.update(node)

    async def execute(self, record: dict[str, Any], api: Api) -> dict[str, Any]:
        record["data"]["result"] = "Completed" if record["data"]["result"] else "Failed"
        return await api.update(record)


class Fixed(Nodes):
    name = "nodes"
    executes_first = True


def is_complete(cluster: Cluster) -> bool:
    return bool(cluster.get(NODE, "n")["status"]["task"] == "Complete")


buggy = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(NODE)],
    objects=[
        new_object(NODE, "n", spec={}, status={"task": "Pending", "retries": 0}),
        new_object(SIDECAR, "task", data={"result": ""}),
    ],
    properties=[eventually(is_complete)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
