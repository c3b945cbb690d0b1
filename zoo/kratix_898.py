"""kratix: the last health record decides.

Link: https://github.com/syntasso/kratix/issues/898
Archetype: A13

A resource that is scheduled to several destinations gets a health record from each. The controller stores the
health of the record that it reconciles, whatever the others say: the order of reconciles decides whether a
resource counts as healthy.

Interleaving: record b is unhealthy, store unhealthy -> record a is healthy, store healthy -> the resource is
healthy

Fix: compute the health from all records.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.testing import permissive_crd

RECORD = "HealthRecord.platform.kratix.io/v1"
RESOURCE = "Database.example.kratix.io/v1"


class Records(Controller):
    """Passes the health of records on to their resource."""

    kind = RECORD
    reads_all = False

    async def reconcile(self, request: Request, api: Api) -> None:
        records = await api.list(RECORD, namespace="default")
        healthy = all(
            record["data"]["healthy"]
            for record in records
            if self.reads_all or record["metadata"]["name"] == request.name
        )
        resource = await api.live.get(RESOURCE, "default/db")
        if resource.get("status") != {"healthy": healthy}:
            resource["status"] = {"healthy": healthy}
            await api.status.update(resource)


class Fixed(Records):
    name = "records"
    reads_all = True


def unhealthy(cluster: Cluster) -> bool:
    return cluster.get(RESOURCE, "db").get("status") == {"healthy": False}


buggy = Scenario(
    controllers=[Records()],
    crds=[permissive_crd(RECORD), permissive_crd(RESOURCE)],
    objects=[
        new_object(RESOURCE, "db", spec={}),
        new_object(RECORD, "a", data={"healthy": True}),
        new_object(RECORD, "b", data={"healthy": False}),
    ],
    properties=[eventually(unhealthy)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
