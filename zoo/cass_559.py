"""cass-operator: the volumes of a recreated datacenter are deleted by label.

Link: https://k8ssandra.atlassian.net/browse/K8SSAND-559
Archetype: A1

When a CassandraDatacenter goes, the operator deletes all claims that carry its name in a label. It came back
from a restart with a view in which the old datacenter was still being deleted, while a new one of the same name
had its claims.

Interleaving: user deletes dc, operator cleans up -> user creates dc, a claim is created -> operator restarts,
reads the old dc -> deletes the claims with the label dc

Fix: delete only the claims whose owner is the datacenter that goes, by uid.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import (
    AlreadyExists,
    Api,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, create, delete
from kontend.testing import permissive_crd

DATACENTER = "CassandraDatacenter.cassandra.datastax.com/v1"
CLAIM = "Claim.cassandra.datastax.com/v1"  # stands for the PersistentVolumeClaim
LABELS = {"cassandra.datastax.com/datacenter": "dc"}


class Datacenters(Controller):
    """Creates the claim of a datacenter; deletes all of its claims before it goes."""

    kind = DATACENTER

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            datacenter = await api.get(DATACENTER, request)
            if datacenter["metadata"].get("deletionTimestamp"):
                await self.delete_claims(datacenter, api)
                datacenter["metadata"]["finalizers"] = []
                await api.update(datacenter)
                return
            datacenter = await api.live.get(DATACENTER, request)
            claim = new_object(CLAIM, "server-data-0", namespace="default", labels=LABELS)
            set_controller_reference(datacenter, claim)
            if not datacenter["metadata"].get("deletionTimestamp"):
                with suppress(AlreadyExists):
                    await api.create(claim)

    async def delete_claims(self, datacenter: dict[str, Any], api: Api) -> None:
        await api.delete_all_of(CLAIM, namespace="default", labels=LABELS)


class Fixed(Datacenters):
    name = "datacenters"

    async def delete_claims(self, datacenter: dict[str, Any], api: Api) -> None:
        for claim in await api.live.list(CLAIM, namespace="default", labels=LABELS):
            if is_controlled_by(claim, datacenter):
                with suppress(NotFound):
                    await api.delete(claim, uid=claim["metadata"]["uid"])


dc = new_object(DATACENTER, "dc", finalizers=["finalizer.cassandra.datastax.com"])
buggy = Scenario(
    controllers=[Datacenters()],
    crds=[permissive_crd(DATACENTER), permissive_crd(CLAIM)],
    objects=[dc],
    actions=[delete(dc), create(dc)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
