"""rook: a change whose handler fails is never handled again.

Link: https://github.com/rook/rook/issues/3577
Archetype: A3

The handlers compared the old object with the new one and did what the difference asked for. A handler that
failed half way had consumed the difference: when it ran again, old and new were the same, and the change was
never applied.

Interleaving: handler sees devices 1 -> 2, remembers 2 -> update of the OSDs: 409 -> runs again: 2 -> 2, nothing
to do

Fix: compare the spec with what exists, not with the spec before.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

CLUSTER = "CephCluster.ceph.rook.io/v1"
OSD = "Osd.ceph.rook.io/v1"


class Clusters(Controller):
    """Updates the OSDs when the devices of the spec change."""

    kind = CLUSTER
    watches = {OSD: lambda osd, cache: []}
    memory = ("seen",)

    def __init__(self) -> None:
        self.seen = 1

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        before, self.seen = self.seen, cluster["spec"]["devices"]
        osd = await api.get(OSD, "default/osd")
        if self.differs(before, self.seen, osd["spec"]["devices"]):
            osd["spec"]["devices"] = self.seen
            await api.update(osd)

    def differs(self, before: int, now: int, applied: int) -> bool:
        return before != now


class Fixed(Clusters):
    name = "clusters"

    def differs(self, before: int, now: int, applied: int) -> bool:
        return applied != now


cluster = new_object(CLUSTER, "c", spec={"devices": 1})
osd = new_object(OSD, "osd", spec={"devices": 1})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(OSD)],
    objects=[cluster, osd],
    actions=[update(osd, metadata={"labels": {"checked": "true"}}), update(cluster, spec={"devices": 2})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
