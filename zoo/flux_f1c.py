"""source-controller: a generation is observed, and its conditions are those of the one before.

Link: https://github.com/fluxcd/pkg/issues/934
Archetype: A6

The patch helper sends conditions in a request of their own, locked by the cached version and tried again with
the same cached copy; the artifact and the observed generation follow in another request, without a lock, even
when the first has failed. After a conflict the object says that its generation was observed, and still that it
is reconciling.

Interleaving: store Reconciling, v2 -> fetch -> conditions: the cache has v1, 409, 409 -> status: artifact and
observedGeneration

Fix: one request for the whole status.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Cluster, Conflict, Controller, Guards, Request, get_condition, merge_from, new_object
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"


class Sources(Controller):
    """Fetches the artifact of a generation, with the patch helper of the project."""

    kind = SOURCE

    async def reconcile(self, request: Request, api: Api) -> None:
        source = await api.get(SOURCE, request)
        generation = source["metadata"]["generation"]
        if source["status"].get("observedGeneration") == generation and get_condition(source, "Ready"):
            return
        await self.patch_conditions(request, api, {"type": "Reconciling", "observedGeneration": generation})
        try:
            await self.patch_conditions(request, api, {"type": "Ready", "observedGeneration": generation})
        finally:
            base = deepcopy(source)
            source["status"] |= {"artifact": source["spec"]["tag"], "observedGeneration": generation}
            await api.status.patch(source, merge_from(base))

    async def patch_conditions(self, request: Request, api: Api, condition: dict[str, Any]) -> None:
        for attempt in (1, 2):
            latest = await api.get(SOURCE, request)
            base = deepcopy(latest)
            latest["status"]["conditions"] = [condition]
            try:
                await api.status.patch(latest, merge_from(base, lock=True))
                return
            except Conflict:
                if attempt == 2:
                    raise


class Fixed(Sources):
    name = "sources"

    async def reconcile(self, request: Request, api: Api) -> None:
        source = await api.get(SOURCE, request)
        generation = source["metadata"]["generation"]
        if source["status"].get("observedGeneration") == generation:
            return
        ready = [{"type": "Ready", "observedGeneration": generation}]
        status = {"artifact": source["spec"]["tag"], "observedGeneration": generation, "conditions": ready}
        base = deepcopy(source)
        source["status"] = status
        await api.status.patch(source, merge_from(base, lock=True))


def observed_without_conditions(cluster: Cluster) -> bool:
    source = cluster.get(SOURCE, "s")
    return source["status"]["observedGeneration"] == 1 and get_condition(source, "Ready") is None


def artifact_without_observed_generation(cluster: Cluster) -> bool:
    """The symptom that was published: it is not reachable, because both fields leave in one request."""
    status = cluster.get(SOURCE, "s")["status"]
    return bool(status.get("artifact")) and status["observedGeneration"] == -1


buggy = Scenario(
    controllers=[Sources()],
    crds=[permissive_crd(SOURCE, plural="gitrepositories")],
    objects=[new_object(SOURCE, "s", spec={"tag": "v1"}, status={"observedGeneration": -1})],
    properties=[never(observed_without_conditions), never(artifact_without_observed_generation)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
