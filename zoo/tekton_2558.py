"""tekton: a TaskRun is forgotten and created again.

Link: https://github.com/tektoncd/pipeline/issues/2558
Archetype: A2

A PipelineRun keeps its TaskRuns in its status. The controller created a TaskRun and failed to update the
status. The next reconcile found no TaskRun in the status and created another one for the same task.

Interleaving: create TaskRun a -> status update fails -> status has no TaskRun -> create TaskRun b

Fix: recover TaskRuns that are labelled with the PipelineRun and missing in its status.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

PIPELINE_RUN = "PipelineRun.tekton.dev/v1"
TASK_RUN = "TaskRun.tekton.dev/v1"


class PipelineRuns(Controller):
    """Starts the task of a pipeline once."""

    kind = PIPELINE_RUN

    async def reconcile(self, request: Request, api: Api) -> None:
        run = await api.live.get(PIPELINE_RUN, request)
        status = run.get("status") or {}
        known = status.get("taskRuns") or await self.recovered(request, api)
        if not known:
            labels = {"tekton.dev/pipelineRun": request.name}
            task = new_object(TASK_RUN, generate_name=f"{request.name}-", namespace="default", labels=labels)
            set_controller_reference(run, task)
            known = [(await api.create(task))["metadata"]["name"]]
        if status.get("taskRuns") != known:
            run["status"] = {"taskRuns": known}
            await api.status.update(run)

    async def recovered(self, request: Request, api: Api) -> list[Any]:
        return []


class Fixed(PipelineRuns):
    name = "pipelineruns"

    async def recovered(self, request: Request, api: Api) -> list[Any]:
        labels = {"tekton.dev/pipelineRun": request.name}
        return [
            task_run["metadata"]["name"]
            for task_run in await api.live.list(TASK_RUN, namespace="default", labels=labels)
        ]


buggy = Scenario(
    controllers=[PipelineRuns()],
    crds=[permissive_crd(PIPELINE_RUN), permissive_crd(TASK_RUN)],
    objects=[new_object(PIPELINE_RUN, "p", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
