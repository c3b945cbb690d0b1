"""percona mongodb: internal TLS is never set up.

Link: https://jira.percona.com/browse/K8SPSMDB-578
Archetype: A2

The operator makes its own certificates when the user has brought none: it takes the existence of the secret for
external TLS as proof that somebody has. It stored that secret itself and crashed before it stored the one for
internal TLS. After the restart the user seemed to have brought certificates, and the members talked to each
other without TLS.

Interleaving: create db-ssl -> crash -> db-ssl exists: the user's, leave everything alone

Fix: look at the secret that is written last; write the others again if it is missing.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "PerconaServerMongoDB.psmdb.percona.com/v1"
SECRET = "Secret/v1"


class Clusters(Controller):
    """Makes certificates unless there are some, then reports that TLS is on."""

    kind = CLUSTER
    guard = "db-ssl"

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        try:
            await api.live.get(SECRET, f"default/{self.guard}")
        except NotFound:
            for name in ("db-ssl", "db-ssl-internal"):
                with suppress(AlreadyExists):
                    await api.create(new_object(SECRET, name, namespace="default"))
        if cluster.get("status") != {"tls": True}:
            cluster["status"] = {"tls": True}
            await api.status.update(cluster)


class Fixed(Clusters):
    name = "clusters"
    guard = "db-ssl-internal"


buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(CLUSTER)],
    objects=[new_object(CLUSTER, "db", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
