"""sei-k8s-controller: a job is deleted while it runs.

Link: https://github.com/sei-protocol/sei-k8s-controller/commit/c12d85a
Archetype: A2

A sync job is removed when it has finished. The path that is taken when the plan completes checks that; the path
of a reconcile that finds a complete plan, after a restart or a lost write, did not, and deleted the job in the
middle of its work.

Interleaving: plan is complete -> crash -> re-entry: plan is complete, delete the job -> it is still running

Fix: the same check on both paths.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

NODE = "SeiNode.sei.io/v1"
JOB = "SyncJob.sei.io/v1"  # stands for the Job


class Nodes(Controller):
    """Completes the plan of a node, and removes the job of the plan when it is done."""

    kind = NODE
    watches = {JOB: lambda job, cache: ["default/n"]}
    checks_always = False

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.live.get(NODE, request)
        first = node["status"]["plan"] == "Active"
        if first:
            node["status"]["plan"] = "Complete"
            await api.status.update(node)
        with suppress(NotFound):
            job = await api.live.get(JOB, "default/sync")
            finished = bool(job["status"].get("finished"))
            if finished or not (first or self.checks_always):
                await api.delete(job)


class Jobs(Controller):
    """Runs the job."""

    kind = JOB

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            job = await api.live.get(JOB, request)
            if not job["status"].get("finished"):
                job["status"] = {"finished": True}
                await api.status.update(job)


class Fixed(Nodes):
    name = "nodes"
    checks_always = True


def deleted_while_running(before: Cluster, after: Cluster) -> bool:
    running = [job for job in before.list(JOB) if not job["status"].get("finished")]
    return bool(running) and not after.list(JOB)


buggy = Scenario(
    controllers=[Nodes(), Jobs()],
    crds=[permissive_crd(NODE), permissive_crd(JOB)],
    objects=[
        new_object(NODE, "n", spec={}, status={"plan": "Active"}),
        new_object(JOB, "sync", status={"started": True}),
    ],
    properties=[never(deleted_while_running)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Jobs()])
