"""casskop: a disruption budget goes back to an old value.

Link: https://github.com/Orange-OpenSource/casskop/issues/321
Archetype: A1

A user lowered maxPodUnavailable from 4 to 1 and the operator wrote the budget. It restarted with a view from
before the change and wrote the budget with 4 again. Until it had caught up, four pods could be evicted at once.

Interleaving: user sets 1, operator writes 1 -> operator restarts, reads 4 -> writes 4

Fix: record the generation that a budget was made from, and never replace it with one from an older generation.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

CLUSTER = "CassandraCluster.db.orange.com/v1"
BUDGET = "Budget.db.orange.com/v1"  # stands for the PodDisruptionBudget


class Clusters(Controller):
    """Keeps the budget of a cluster."""

    kind = CLUSTER
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        budget = await api.live.get(BUDGET, "default/c")
        generation, limit = cluster["metadata"]["generation"], cluster["spec"]["maxPodUnavailable"]
        if self.compares and int(budget["metadata"]["annotations"]["generation"]) >= generation:
            return
        if budget["spec"]["maxUnavailable"] != limit:
            budget["spec"]["maxUnavailable"] = limit
            budget["metadata"]["annotations"]["generation"] = str(generation)
            await api.update(budget)


class Fixed(Clusters):
    name = "clusters"
    compares = True


def goes_back(before: Cluster, after: Cluster) -> bool:
    limits = [cluster.get(BUDGET, "c")["spec"]["maxUnavailable"] for cluster in (before, after)]
    return limits == [1, 4]


cluster = new_object(CLUSTER, "c", spec={"maxPodUnavailable": 4})
budget = new_object(BUDGET, "c", annotations={"generation": "1"}, spec={"maxUnavailable": 4})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(BUDGET)],
    objects=[cluster, budget],
    actions=[update(cluster, spec={"maxPodUnavailable": 1})],
    properties=[never(goes_back)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
