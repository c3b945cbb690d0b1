"""Buckets of a storage service, which the cluster knows nothing of: a finalizer, a client, and a fake for the explorer.

``kontend explore examples/buckets_operator.py``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kontend import (
    Api,
    Cluster,
    Controller,
    NotFound,
    Request,
    add_finalizer,
    has_finalizer,
    mutate_object,
    remove_finalizer,
)
from kontend.explore import Scenario, delete, eventually
from kontend.testing import permissive_crd

FINALIZER = "example.com/bucket"


class Storage(Protocol):
    """The client of the service; a request may be repeated."""

    async def create(self, name: str) -> None: ...

    async def delete(self, name: str) -> None: ...


class Buckets(Controller):
    kind = "Bucket.example.com/v1"

    def __init__(self, storage: Callable[[Api], Storage]) -> None:
        self._storage = storage

    async def reconcile(self, request: Request, api: Api) -> None:
        storage = self._storage(api)
        try:
            bucket = await api.get(self.kind, request)
        except NotFound:
            return
        if "deletionTimestamp" in bucket["metadata"]:
            if has_finalizer(bucket, FINALIZER):
                await storage.delete(request.name)
                await mutate_object(api, bucket, lambda obj: remove_finalizer(obj, FINALIZER))
            return
        await mutate_object(api, bucket, lambda obj: add_finalizer(obj, FINALIZER))
        await storage.create(request.name)


class FakeStorage:
    """A service that keeps each bucket as a ConfigMap, so that a crash of the controller leaves it there."""

    def __init__(self, api: Api) -> None:
        self._api = api.acting_as("storage")

    async def create(self, name: str) -> None:
        await self._api.apply(_stored(name))

    async def delete(self, name: str) -> None:
        try:
            await self._api.delete(_stored(name))
        except NotFound:
            return  # a request that is repeated finds nothing


def _stored(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "storage"}}


def nothing_is_left(cluster: Cluster) -> bool:
    """Return True if the service holds the buckets of the cluster and no others."""
    stored = {obj["metadata"]["name"] for obj in cluster.list("ConfigMap/v1", namespace="storage")}
    return stored == {obj["metadata"]["name"] for obj in cluster.list(Buckets.kind)}


_BUCKET = {"apiVersion": "example.com/v1", "kind": "Bucket", "metadata": {"name": "b", "namespace": "default"}}
buckets = Scenario(
    [Buckets(FakeStorage)],
    crds=[permissive_crd(Buckets.kind)],
    objects=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "storage"}}, _BUCKET],
    actions=[delete(_BUCKET)],
    properties=[eventually(nothing_is_left)],
)
