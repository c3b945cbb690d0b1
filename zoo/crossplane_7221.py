"""crossplane: a revision stamps its status forever.

Link: https://github.com/crossplane/crossplane/issues/7221
Archetype: A10

The reconciler of CompositionRevisions updated the status at the end of every reconcile, with a condition whose
transition time was the present. The write triggered the next reconcile, with another time.

Interleaving: reconcile writes time 1 -> the event triggers a reconcile -> writes time 2 -> ...

Fix: keep the transition time of a condition that has not changed, and write only what differs.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, get_condition, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

REVISION = "CompositionRevision.apiextensions.crossplane.io/v1"


class Revisions(Controller):
    """Stores a condition at the end of every reconcile."""

    kind = REVISION

    async def reconcile(self, request: Request, api: Api) -> None:
        revision = await api.get(REVISION, request)
        condition = {"type": "ValidPipeline", "status": "True", "lastTransitionTime": self.time(revision, api)}
        revision["status"] = {"conditions": [condition]}
        await api.status.update(revision)

    def time(self, revision: dict[str, Any], api: Api) -> str:
        return api.now()


class Fixed(Revisions):
    name = "revisions"

    def time(self, revision: dict[str, Any], api: Api) -> str:
        known = get_condition(revision, "ValidPipeline")
        return str(known["lastTransitionTime"]) if known else api.now()


buggy = Scenario(
    controllers=[Revisions()],
    crds=[permissive_crd(REVISION)],
    objects=[new_object(REVISION, "r", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
