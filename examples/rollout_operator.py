"""Brings an App to a new image in three steps that survive any crash: announce it, roll it out, observe it.

kontend run examples/rollout_operator.py
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kontend import AlreadyExists, Api, Controller, NotFound, Request, Result, StatusScope, sync_child
from kontend.plans import Plan, Run, Task, TaskStatus, execute


def deployment(name: str, image: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


@dataclass(frozen=True)
class Announce(Task):
    """Announces the rollout, once: the id of the task makes the command idempotent."""

    image: str

    async def execute(self, run: Run) -> None:
        metadata = {"name": f"rollout-{run.id}", "namespace": run.obj["metadata"]["namespace"]}
        note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"image": self.image}}
        with suppress(AlreadyExists):
            await run.api.create(note)


@dataclass(frozen=True)
class RollOut(Task):
    """Applies the image to the tracked child, and waits until the child's own controller has observed it."""

    image: str

    async def execute(self, run: Run) -> None:
        await sync_child(run.api, run.scope, deployment(run.obj["metadata"]["name"], self.image), field="deployment")

    async def status(self, run: Run) -> TaskStatus:
        synced = await sync_child(
            run.api, run.scope, deployment(run.obj["metadata"]["name"], self.image), field="deployment"
        )
        return "Complete" if synced.observed else "Running"


@dataclass(frozen=True)
class Observe(Task):
    """Records the image. Changes of the status are stored in the same patch as the end of the task."""

    image: str

    async def execute(self, run: Run) -> None:
        run.obj["status"]["currentImage"] = self.image


class Apps(Controller):
    kind = "App.example.com/v1"
    owns = ("Deployment.apps/v1",)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        try:
            app = await api.get(self.kind, request)
        except NotFound:
            return None
        image = app["spec"]["image"]
        async with StatusScope(api, app) as scope:
            drift = scope.status.get("currentImage") != image
            steps = [Announce(image), RollOut(image), Observe(image)]
            wanted = Plan(steps, goal=image, target_phase="Running", failed_phase="Failed") if drift else None
            progress = await execute(api, scope, wanted, tasks=[Announce, RollOut, Observe])
            scope.set_condition("Progressing", progress.plan is not None, progress.action.capitalize())
        return progress.result
