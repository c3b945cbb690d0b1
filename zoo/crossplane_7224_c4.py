"""crossplane: two writers that update the whole object lose nothing.

Link: https://github.com/crossplane/crossplane/issues/7224
Archetype: N

Reported by a simulator and retracted: there, an update did not compare resourceVersions, so a stale one
replaced the fields of another writer. A real API server refuses it, the loser reads again, and both fields are
there in the end.
"""

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.testing import permissive_crd

COMPOSITE = "XBucket.example.crossplane.io/v1"


class Composition(Controller):
    """Stores its field with an update of the whole object."""

    kind = COMPOSITE
    field = "compositionRef"

    async def reconcile(self, request: Request, api: Api) -> None:
        composite = await api.get(COMPOSITE, request)
        if not composite["spec"].get(self.field):
            composite["spec"][self.field] = {"name": "c"}
            await api.update(composite)


class Revision(Composition):
    field = "compositionRevisionRef"


def both_fields(cluster: Cluster) -> bool:
    return set(cluster.get(COMPOSITE, "x")["spec"]) == {"compositionRef", "compositionRevisionRef"}


control = Scenario(
    controllers=[Composition(), Revision()],
    crds=[permissive_crd(COMPOSITE)],
    objects=[new_object(COMPOSITE, "x", spec={})],
    properties=[eventually(both_fields)],
    guards=Guards.off(),
)
