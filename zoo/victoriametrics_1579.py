"""VictoriaMetrics operator: the old rollout is reported as the new one.

Link: https://github.com/VictoriaMetrics/operator/issues/1579
Archetype: A8

The operator updates a child and then waits for its rollout: it reads the child and compares its observed
generation with its generation. The read came from the cache and still had the child before the update, whose
old rollout was complete. The operator reported the new version as running while the pods still had the old one.

Interleaving: update child to v2 -> cached get: child v1, fully rolled out -> status: v2 is running

Fix: compare with the generation in the response to the update.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

AGENT = "VMAgent.operator.victoriametrics.com/v1"
CHILD = "Workload.operator.victoriametrics.com/v1"  # stands for the StatefulSet


class Agents(Controller):
    """Rolls the child out and reports the version that runs."""

    kind = AGENT
    watches = {CHILD: lambda child, cache: ["default/vm"]}
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        agent = await api.get(AGENT, request)
        child = await api.get(CHILD, "default/vm")
        version = agent["spec"]["version"]
        if child["spec"]["version"] != version:
            child["spec"]["version"] = version
            await api.update(child)
        generation = child["metadata"]["generation"]
        child = await api.get(CHILD, "default/vm")
        if not self.compares:
            generation = child["metadata"]["generation"]
        ready = child["status"]["observedGeneration"] >= generation
        if ready and (agent.get("status") or {}).get("running") != version:
            agent["status"] = {"running": version}
            await api.status.update(agent)


class Workloads(Controller):
    """Rolls out the version of a child, as the StatefulSet controller does."""

    kind = CHILD

    async def reconcile(self, request: Request, api: Api) -> None:
        child = await api.live.get(CHILD, request)
        wanted = {"running": child["spec"]["version"], "observedGeneration": child["metadata"]["generation"]}
        if child.get("status") != wanted:
            child["status"] = wanted
            await api.status.update(child)


class Fixed(Agents):
    name = "agents"
    compares = True


def reported_too_early(cluster: Cluster) -> bool:
    reported = (cluster.get(AGENT, "vm").get("status") or {}).get("running")
    return reported == "v2" and cluster.get(CHILD, "vm")["status"]["running"] == "v1"


agent = new_object(AGENT, "vm", spec={"version": "v1"})
child = new_object(CHILD, "vm", spec={"version": "v1"}, status={"running": "v1", "observedGeneration": 1})
buggy = Scenario(
    controllers=[Agents(), Workloads()],
    crds=[permissive_crd(AGENT), permissive_crd(CHILD)],
    objects=[agent, child],
    actions=[update(agent, spec={"version": "v2"})],
    properties=[never(reported_too_early)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Workloads()])
