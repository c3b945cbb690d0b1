"""source-controller: a condition is stamped with a generation that was never fetched.

Link: https://github.com/fluxcd/pkg/issues/934
Archetype: A8

The patch helper reads the object again before it stores conditions, and stamps each with the generation of that
copy. When the spec changes while generation 1 is being fetched, Ready=True carries generation 2, with the
artifact of 1.

Interleaving: reconcile reads generation 1 -> user changes the spec, generation 2 -> the helper reads 2 and
stores Ready for 2, with the artifact of 1

Fix: stamp with the generation that the reconcile began with.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, get_condition, merge_from, new_object
from kontend.explore import Scenario, never, update
from kontend.testing import permissive_crd

SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"


class Sources(Controller):
    """Fetches the artifact of a generation, then stores it with its conditions."""

    kind = SOURCE
    stamps_latest = True

    async def reconcile(self, request: Request, api: Api) -> None:
        source = await api.get(SOURCE, request)
        generation, tag = source["metadata"]["generation"], source["spec"]["tag"]
        if (source.get("status") or {}).get("observedGeneration") == generation:
            return
        latest = await api.get(SOURCE, request)
        base = deepcopy(latest)
        stamp = latest["metadata"]["generation"] if self.stamps_latest else generation
        ready = [{"type": "Ready", "status": "True", "observedGeneration": stamp}]
        latest["status"] = {"artifact": tag, "observedGeneration": generation, "conditions": ready}
        await api.status.patch(latest, merge_from(base, lock=True))


class Fixed(Sources):
    name = "sources"
    stamps_latest = False


def ready_for_the_future(cluster: Cluster) -> bool:
    source = cluster.get(SOURCE, "s")
    ready = get_condition(source, "Ready")
    return ready is not None and ready["observedGeneration"] == 2 and source["status"].get("artifact") == "v1"


source = new_object(SOURCE, "s", spec={"tag": "v1"})
buggy = Scenario(
    controllers=[Sources()],
    crds=[permissive_crd(SOURCE, plural="gitrepositories")],
    objects=[source],
    actions=[update(source, spec={"tag": "v2"})],
    properties=[never(ready_for_the_future)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
