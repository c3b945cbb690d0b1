"""ECK: the secrets of a recreated cluster are taken for orphans.

Link: https://github.com/elastic/cloud-on-k8s/issues/5249
Archetype: A1

When an Elasticsearch resource is gone, the operator deletes what it has left behind, found by label. The
resource was deleted and created again. After a restart the operator saw the state in between, in which there
was no such resource, and deleted the secrets of the new one.

Interleaving: user deletes es, operator deletes its secrets -> user creates es, operator creates them ->
operator restarts and does not see es -> deletes the secrets

Fix: label a secret with the uid of its cluster, and delete it only if the server has no cluster with that uid.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, create, delete, never
from kontend.testing import permissive_crd

ELASTICSEARCH = "Elasticsearch.elasticsearch.k8s.elastic.co/v1"
SECRET = "Secret/v1"


class Clusters(Controller):
    """Creates the secret of a cluster, and deletes secrets of clusters that are gone."""

    kind = ELASTICSEARCH
    watches = {SECRET: lambda secret, cache: ["default/es"]}
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            await api.get(ELASTICSEARCH, request)
        except NotFound:
            await self.delete_orphans(request, api)
            return
        with suppress(AlreadyExists, NotFound):
            cluster = await api.live.get(ELASTICSEARCH, request)
            labels = {"cluster-uid": cluster["metadata"]["uid"]}
            await api.create(new_object(SECRET, "es-user", namespace="default", labels=labels))

    async def delete_orphans(self, request: Request, api: Api) -> None:
        for secret in await api.live.list(SECRET, namespace="default"):
            if not self.compares or secret["metadata"]["labels"]["cluster-uid"] != await self.live_uid(request, api):
                with suppress(NotFound):
                    await api.delete(secret, uid=secret["metadata"]["uid"])

    async def live_uid(self, request: Request, api: Api) -> str:
        try:
            return str((await api.live.get(ELASTICSEARCH, request))["metadata"]["uid"])
        except NotFound:
            return ""


class Fixed(Clusters):
    name = "clusters"
    compares = True


def deleted_although_wanted(before: Cluster, after: Cluster) -> bool:
    uids = {elasticsearch["metadata"]["uid"] for elasticsearch in before.list(ELASTICSEARCH)}
    wanted = [secret for secret in before.list(SECRET) if secret["metadata"]["labels"]["cluster-uid"] in uids]
    return len(wanted) > len(after.list(SECRET))


es = new_object(ELASTICSEARCH, "es", spec={})
buggy = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(ELASTICSEARCH, plural="elasticsearches")],
    objects=[es],
    actions=[delete(es), create(es)],
    properties=[never(deleted_although_wanted)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
