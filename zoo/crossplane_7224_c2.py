"""crossplane: a deleted composite resource cleans up before it goes.

Link: https://github.com/crossplane/crossplane/issues/7224
Archetype: N

Reported by a simulator and retracted: there, a delete replaced the object by the bare document of the scenario,
which has no finalizers, so the resource was gone before its composed resources were deleted. A real API server
keeps the object until its finalizers are removed, and nothing is left behind.
"""

from contextlib import suppress

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

COMPOSITE = "XBucket.example.crossplane.io/v1"
COMPOSED = "Bucket.example.crossplane.io/v1"
FINALIZER = "composite.apiextensions.crossplane.io"


class Composites(Controller):
    """Creates the composed resource, and deletes it before the composite resource goes."""

    kind = COMPOSITE

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            composite = await api.get(COMPOSITE, request)
        except NotFound:
            return
        composed = new_object(COMPOSED, "b", namespace="default")
        if not composite["metadata"].get("deletionTimestamp"):
            if FINALIZER in composite["metadata"].get("finalizers", []):
                with suppress(AlreadyExists):
                    await api.create(composed)
            return
        with suppress(NotFound):
            await api.delete(composed)
        composite["metadata"]["finalizers"] = []
        with suppress(NotFound):
            await api.update(composite)


composite = new_object(COMPOSITE, "x", finalizers=[FINALIZER])
control = Scenario(
    controllers=[Composites()],
    crds=[permissive_crd(COMPOSITE), permissive_crd(COMPOSED)],
    objects=[composite],
    actions=[delete(composite)],
    guards=Guards.off(),
)
