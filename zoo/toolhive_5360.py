"""toolhive: a restarted pod of the old version puts the old image back.

Link: https://github.com/stacklok/toolhive/issues/5360
Archetype: A12

During a rollout two pods apply one StatefulSet, the old one with the old image. A gate should stop it: who carries an
older generation than the one that is stored leaves the set alone. But the generation came from a ConfigMap that is
mounted live. When the old pod restarts it reads the new generation, passes the gate, and applies the old image.

Interleaving: new pod applies image 2 as generation 2 -> old pod restarts, reads generation 2 -> 2 >= 2: apply image 1

Fix: freeze the generation in the pod when it is created.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

SET = "Workload.toolhive.stacklok.dev/v1"  # stands for the StatefulSet
MOUNTED = "ConfigMap/v1"


class OldPod(Controller):
    """Applies its image if its generation is not an older one."""

    kind = MOUNTED
    image = "proxy:1"
    generation = 1
    frozen = False

    async def reconcile(self, request: Request, api: Api) -> None:
        mounted = await api.live.get(MOUNTED, request)
        generation = self.generation if self.frozen else int(mounted["data"]["generation"])
        live = await api.live.get(SET, "default/s")
        if live["spec"]["generation"] > generation or live["spec"]["image"] == self.image:
            return
        live["spec"] = {"image": self.image, "generation": generation}
        await api.update(live)


class NewPod(OldPod):
    image = "proxy:2"
    generation = 2


class FrozenOldPod(OldPod):
    name = "oldpod"
    frozen = True


class FrozenNewPod(NewPod):
    name = "newpod"
    frozen = True


def image_is_reverted(before: Cluster, after: Cluster) -> bool:
    was, now = (cluster.get(SET, "s")["spec"]["image"] for cluster in (before, after))
    return (was, now) == ("proxy:2", "proxy:1")


buggy = Scenario(
    controllers=[OldPod(), NewPod()],
    crds=[permissive_crd(SET)],
    objects=[
        new_object(MOUNTED, "mounted", namespace="default", data={"generation": "2"}),
        new_object(SET, "s", namespace="default", spec={"image": "proxy:1", "generation": 1}),
    ],
    properties=[never(image_is_reverted)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[FrozenOldPod(), FrozenNewPod()])
