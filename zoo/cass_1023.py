"""cass-operator: a crash between two secrets leaves a datacenter without a keystore.

Link: https://k8ssandra.atlassian.net/browse/K8SSAND-1023
Archetype: A2

The operator creates two secrets, one with the authority's keystore and one for the datacenter. It looks for the
first one to decide whether both are needed. It crashed between the two: after the restart the first one
existed, the second one was never created, and the pods that mount it never started.

Interleaving: create dc-ca-keystore -> crash -> dc-ca-keystore exists, nothing to do

Fix: check each secret for itself.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DATACENTER = "CassandraDatacenter.cassandra.datastax.com/v1"
SECRET = "Secret/v1"
NAMES = ("dc-ca-keystore", "dc-keystore")


class Datacenters(Controller):
    """Creates the keystores of a datacenter."""

    kind = DATACENTER

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            await api.live.get(SECRET, f"default/{NAMES[0]}")
        except NotFound:
            for name in NAMES:
                await api.create(new_object(SECRET, name, namespace="default"))


class Fixed(Datacenters):
    name = "datacenters"

    async def reconcile(self, request: Request, api: Api) -> None:
        for name in NAMES:
            with suppress(AlreadyExists):
                await api.create(new_object(SECRET, name, namespace="default"))


buggy = Scenario(
    controllers=[Datacenters()],
    crds=[permissive_crd(DATACENTER)],
    objects=[new_object(DATACENTER, "dc", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
