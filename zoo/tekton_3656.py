"""tekton: a TaskRun gets a second pod.

Link: https://github.com/tektoncd/pipeline/issues/3656
Archetype: A4

A TaskRun remembers its pod in status.podName. The controller created the pod, wrote the name, and was triggered
again by its own label update while the cache still had the TaskRun without a name. It created a second pod
under another random name; the first one ran on without anybody waiting for it.

Interleaving: podName empty -> create pod a, write podName -> reconcile with the old TaskRun -> create pod b

Fix: name the pod after the TaskRun, so that a second create is refused.
"""

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Controller, Guards, Request, merge_from, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

RUN = "TaskRun.tekton.dev/v1"
POD = "ConfigMap/v1"  # stands for the pod


class TaskRuns(Controller):
    """Labels the TaskRun, then starts its pod once."""

    kind = RUN

    async def reconcile(self, request: Request, api: Api) -> None:
        run = await api.get(RUN, request)
        if (run.get("status") or {}).get("podName"):
            return
        pod = self.pod(run)
        set_controller_reference(run, pod)
        with suppress(AlreadyExists):
            await api.create(pod)
        base = deepcopy(run)
        run["metadata"]["labels"] = {"tekton.dev/task": "build"}
        await api.patch(run, merge_from(base))
        run["status"] = {"podName": pod["metadata"]["name"]}
        await api.status.update(run)

    def pod(self, run: dict[str, Any]) -> dict[str, Any]:
        return new_object(POD, generate_name="build-", namespace="default")


class Fixed(TaskRuns):
    name = "taskruns"

    def pod(self, run: dict[str, Any]) -> dict[str, Any]:
        return new_object(POD, f"{run['metadata']['name']}-pod", namespace="default")


buggy = Scenario(
    controllers=[TaskRuns()], crds=[permissive_crd(RUN)], objects=[new_object(RUN, "build")], guards=Guards.off()
)
fixed = replace(buggy, controllers=[Fixed()])
