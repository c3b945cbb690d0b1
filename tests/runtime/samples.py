"""Objects and a small controller that the tests of the machinery share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

GADGET = "Gadget.example.com/v1"
CONFIG_MAP = "ConfigMap/v1"

GADGETS = definition("Gadget")


def gadget(name: str = "g", **spec: Any) -> dict[str, Any]:
    """A gadget in the default namespace."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": spec}


def config_map(name: str, *, owner: dict[str, Any] | None = None, **data: str) -> dict[str, Any]:
    """A ConfigMap in the default namespace, with or without a controller."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if owner is not None:
        reference = {name: owner[name] for name in ("apiVersion", "kind")}
        metadata["ownerReferences"] = [
            {**reference, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
        ]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def cluster(*objects: dict[str, Any]) -> Cluster:
    """A cluster that knows gadgets."""
    return Cluster(crds=[GADGETS], objects=objects)


class Gadgets(Controller):
    """Each gadget has a ConfigMap of the same name, and a status that says so."""

    kind = GADGET
    owns: ClassVar[Sequence[str]] = (CONFIG_MAP,)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        try:
            gadget = await api.get(self.kind, request)
        except NotFound:
            return None
        try:
            await api.get(CONFIG_MAP, request)
        except NotFound:
            await api.create(config_map(request.name, owner=gadget))
        if (gadget.get("status") or {}).get("phase") != "Ready":
            gadget["status"] = {"phase": "Ready"}
            await api.status.update(gadget)
        return None
