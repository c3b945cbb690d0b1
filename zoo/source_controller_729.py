"""source-controller: a generation counts as observed before anything was done.

Link: https://github.com/fluxcd/source-controller/issues/729
Archetype: A8

The first reconcile of an object only adds the finalizer and asks to be called again. The deferred summary,
which runs at the end of every reconcile, stored observedGeneration all the same. Clients that wait for the
observed generation went on without an artifact.

Interleaving: add the finalizer, return early -> the summary stores observedGeneration 1 -> clients see a source
that is done

Fix: the summary stores the observed generation only after the work.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, Result, new_object
from kontend.explore import Scenario, never
from kontend.testing import permissive_crd

SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"
FINALIZER = "finalizers.fluxcd.io/source"


class Sources(Controller):
    """Adds a finalizer, then fetches an artifact; the summary comes last."""

    kind = SOURCE
    always_observes = True

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        source = await api.get(SOURCE, request)
        status = dict(source.get("status") or {})
        first = not source["metadata"].get("finalizers")
        if first:
            source["metadata"]["finalizers"] = [FINALIZER]
            await api.update(source)
        else:
            status["artifact"] = "main@sha1"
        if not first or self.always_observes:
            status["observedGeneration"] = source["metadata"]["generation"]
        if source.get("status", {}) != status:
            source["status"] = status
            await api.status.update(source)
        return Result(requeue=True) if first else None


class Fixed(Sources):
    name = "sources"
    always_observes = False


def observed_without_artifact(cluster: Cluster) -> bool:
    status = cluster.get(SOURCE, "s").get("status") or {}
    return bool(status.get("observedGeneration")) and not status.get("artifact")


buggy = Scenario(
    controllers=[Sources()],
    crds=[permissive_crd(SOURCE, plural="gitrepositories")],
    objects=[new_object(SOURCE, "s", spec={})],
    properties=[never(observed_without_artifact)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
