"""crossplane: a status that is written unconditionally, but always the same.

Link: https://github.com/crossplane/crossplane/issues/7221
Archetype: N

A reconciler that updates the status at the end of every reconcile looks like an endless loop: the write
triggers it again. As long as the status is identical, the API server stores nothing, the resourceVersion stays,
and there is no event. Simulators that count each write as a change report a loop that no cluster has.
"""

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

REVISION = "CompositionRevision.apiextensions.crossplane.io/v1"


class Revisions(Controller):
    """Stores the same condition at the end of every reconcile."""

    kind = REVISION

    async def reconcile(self, request: Request, api: Api) -> None:
        revision = await api.get(REVISION, request)
        revision["status"] = {"conditions": [{"type": "ValidPipeline", "status": "True"}]}
        await api.status.update(revision)


control = Scenario(
    controllers=[Revisions()],
    crds=[permissive_crd(REVISION)],
    objects=[new_object(REVISION, "r", spec={})],
    guards=Guards.off(),
)
