"""toolhive: an old proxy reverts the image of a StatefulSet.

Link: https://github.com/stacklok/toolhive/issues/5023
Archetype: A12

Proxy pods apply the StatefulSet of their server with server-side apply, the same field manager and force.
During a rollout a pod of the old revision is still there; it applies last, with the image that it was started
with, and the new image is gone for good.

Interleaving: the new pod applies image 2 -> the old pod applies image 1, by force

Fix: apply only if the stored generation is not newer than the own one; the apply carries the resourceVersion
that was compared.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
STATEFULSET = "Workload.toolhive.stacklok.dev/v1"  # stands for the StatefulSet


class NewProxy(Controller):
    """A proxy pod: applies the workload once, with the generation and the image that it was started with."""

    kind = SERVER
    predicates = {SERVER: GenerationChanged()}
    generation = 2
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        note = {"generation": str(self.generation)}
        image = {"image": f"server:{self.generation}"}
        wanted = new_object(STATEFULSET, "s", namespace="default", annotations=note, spec=image)
        if self.compares:
            try:
                stored = await api.live.get(STATEFULSET, "default/s")
            except NotFound:
                await api.create(wanted)
                return
            if int(stored["metadata"]["annotations"]["generation"]) > self.generation:
                return
            wanted["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        await api.apply(wanted, force=True, manager="proxyrunner")


class OldProxy(NewProxy):
    generation = 1


class FixedNew(NewProxy):
    name = "newproxy"
    compares = True


class FixedOld(OldProxy):
    name = "oldproxy"
    compares = True


def runs_the_new_image(cluster: Cluster) -> bool:
    return [workload["spec"]["image"] for workload in cluster.list(STATEFULSET)] == ["server:2"]


buggy = Scenario(
    controllers=[NewProxy(), OldProxy()],
    crds=[permissive_crd(SERVER), permissive_crd(STATEFULSET)],
    objects=[new_object(SERVER, "s", spec={})],
    properties=[eventually(runs_the_new_image)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[FixedNew(), FixedOld()])
