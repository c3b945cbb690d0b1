"""sei-k8s-controller: a governance deposit is paid twice.

Link: https://github.com/sei-protocol/sei-k8s-controller/pull/450
Archetype: A2

A task is submitted to the sidecar under a new id, which is then stored. When storing fails, the id is lost: the
next reconcile has nothing to ask the sidecar about and submits the task again under another id. For a deposit
that is money.

Interleaving: submit deposit as 1 -> status update fails -> no id is stored -> submit deposit as 2

Fix: derive the id from the plan, so that the sidecar recognises a second submission.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

TASK = "SeiNodeTask.sei.io/v1"
SUBMISSION = "ConfigMap/v1"  # the sidecar's record of a task


class Tasks(Controller):
    """Submits a task once and records its id."""

    kind = TASK

    async def reconcile(self, request: Request, api: Api) -> None:
        task = await api.live.get(TASK, request)
        if (task.get("status") or {}).get("id"):
            return
        identity = self.identity(task["metadata"]["name"], api)
        with suppress(AlreadyExists):
            await api.create(new_object(SUBMISSION, identity, namespace="default"))
        task["status"] = {"id": identity, "phase": "Running"}
        await api.status.update(task)

    def identity(self, name: str, api: Api) -> str:
        return api.uuid()


class Fixed(Tasks):
    name = "tasks"

    def identity(self, name: str, api: Api) -> str:
        return f"{name}-deposit-0"


buggy = Scenario(
    controllers=[Tasks()],
    crds=[permissive_crd(TASK)],
    objects=[new_object(TASK, "t", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
