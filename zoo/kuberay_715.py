"""kuberay: too many workers, then a random one is killed.

Link: https://github.com/ray-project/kuberay/issues/715
Archetype: A4

The operator compared the number of workers in the cache with the desired one and created the difference.
Workers that it had just created were not in the cache, so it created more. The next reconcile saw too many and
deleted one at random, possibly one that was already working.

Interleaving: list 0 workers, create a -> list 0 workers, create b -> list a and b, delete a

Fix: count the workers on the server.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

CLUSTER = "RayCluster.ray.io/v1"
WORKER = "Worker.ray.io/v1"


class Clusters(Controller):
    """Creates missing workers, deletes superfluous ones, reports the number."""

    kind = CLUSTER
    owns = (WORKER,)

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        workers = await self.workers(request, api)
        wanted = cluster["spec"]["workers"]
        for _ in range(wanted - len(workers)):
            worker = new_object(WORKER, generate_name="worker-", namespace=request.namespace)
            set_controller_reference(cluster, worker)
            await api.create(worker)
        for worker in workers[wanted:]:
            await api.delete(worker)
        cluster["status"] = {"desiredWorkers": wanted}
        await api.status.update(cluster)

    async def workers(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.list(WORKER, namespace=request.namespace)


class Fixed(Clusters):
    name = "clusters"

    async def workers(self, request: Request, api: Api) -> list[dict[str, Any]]:
        return await api.live.list(WORKER, namespace=request.namespace)


def too_many(cluster: Cluster) -> bool:
    return len(cluster.list(WORKER)) > 1


buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(WORKER)],
    objects=[new_object(CLUSTER, "ray", spec={"workers": 1})],
    properties=[never(too_many)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
