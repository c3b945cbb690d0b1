"""percona xtradb: a certificate without its issuer's counterpart.

Link: https://jira.percona.com/browse/K8SPXC-897
Archetype: A2

With cert-manager the operator creates an issuer, a certificate for clients, waits for its secret, and creates
the certificate for replication. The whole is skipped when the first certificate exists. A crash after it left a
cluster whose replication never got a certificate, while the operator reported nothing.

Interleaving: create issuer, certificate db-ssl -> crash -> db-ssl exists, skip -> db-ssl-internal is missing

Fix: create each object on its own, and take "exists already" for done.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "PerconaXtraDBCluster.pxc.percona.com/v1"
ISSUER = "Issuer.cert-manager.io/v1"
CERTIFICATE = "Certificate.cert-manager.io/v1"
WANTED = ((ISSUER, "db-ca"), (CERTIFICATE, "db-ssl"), (CERTIFICATE, "db-ssl-internal"))


class Clusters(Controller):
    """Asks cert-manager for the certificates of a cluster."""

    kind = CLUSTER

    async def reconcile(self, request: Request, api: Api) -> None:
        if await self.exists(CERTIFICATE, "db-ssl", api):
            return
        for kind, name in WANTED:
            with suppress(AlreadyExists):
                await api.create(new_object(kind, name, namespace="default"))

    async def exists(self, kind: str, name: str, api: Api) -> bool:
        try:
            await api.live.get(kind, f"default/{name}")
        except NotFound:
            return False
        return True


class Fixed(Clusters):
    name = "clusters"

    async def exists(self, kind: str, name: str, api: Api) -> bool:
        return False


buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER), permissive_crd(ISSUER), permissive_crd(CERTIFICATE)],
    objects=[new_object(CLUSTER, "db", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
