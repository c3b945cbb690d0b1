"""fluxcd/pkg: a consumer sees the new conditions with the old artifact.

Link: https://github.com/fluxcd/pkg/issues/934
Archetype: A6

A source is written in several requests: first the conditions, then the rest of the status with the artifact. A
consumer that reacts to the condition reads the source between the two. It applies the old artifact and records
the new generation as done; the artifact that follows does not change the condition and does not trigger it.

Interleaving: source stores Ready for generation 2 -> consumer reads it with artifact 1, applies 1, records 2 ->
source stores artifact 2

Fix: store conditions and artifact in one request.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, get_condition, merge_from, new_object, set_condition
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"
CONSUMER = "Kustomization.kustomize.toolkit.fluxcd.io/v1"


class Sources(Controller):
    """Fetches an artifact for each generation."""

    kind = SOURCE
    requests = 2

    async def reconcile(self, request: Request, api: Api) -> None:
        source = await api.get(SOURCE, request)
        generation = source["metadata"]["generation"]
        if (source.get("status") or {}).get("observedGeneration") == generation:
            return
        base = deepcopy(source)
        set_condition(source, "Ready", True, "Fetched", now="2026-01-01T00:00:00Z", observed_generation=generation)
        if self.requests == 2:
            await api.status.patch(source, merge_from(base, lock=True))
            base = deepcopy(source)
        source["status"].update(artifact=base["spec"]["tag"], observedGeneration=generation)
        await api.status.patch(source, merge_from(base, lock=True))


class Consumers(Controller):
    """Applies the artifact of a source once for each generation that is ready."""

    kind = CONSUMER
    watches = {SOURCE: lambda source, cache: ["default/app"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        source = await api.get(SOURCE, "default/app")
        ready = get_condition(source, "Ready")
        consumer = await api.live.get(CONSUMER, request)
        done = (consumer.get("status") or {}).get("generation")
        if ready is None or ready["observedGeneration"] == done:
            return
        consumer["status"] = {
            "generation": ready["observedGeneration"],
            "applied": source["status"].get("artifact", "nothing"),
        }
        await api.status.update(consumer)


class Fixed(Sources):
    name = "sources"
    requests = 1


buggy = Scenario(
    controllers=[Sources(), Consumers()],
    crds=[permissive_crd(SOURCE, plural="gitrepositories"), permissive_crd(CONSUMER)],
    objects=[new_object(SOURCE, "app", spec={"tag": "v1"}), new_object(CONSUMER, "app")],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Consumers()])
