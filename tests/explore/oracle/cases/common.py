"""Objects, definitions and small functions that the cases share, and the table of all cases."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.explore import Scenario
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

W: Final = "Widget.example.com/v1"
CM: Final = "ConfigMap/v1"
CRD: Final = definition("Widget")
NO_STATUS: Final = copy.deepcopy(CRD)
del NO_STATUS["spec"]["versions"][0]["subresources"]
TWO_VERSIONS: Final = copy.deepcopy(CRD)
TWO_VERSIONS["spec"]["versions"].append({**CRD["spec"]["versions"][0], "name": "v2", "storage": False})
SCALED: Final = copy.deepcopy(CRD)
SCALED["spec"]["versions"][0]["subresources"]["scale"] = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.size",
}
WIDGET: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}
OFF: Final = Guards(
    read_your_writes=False, delete_preconditions=False, locked_status=False, monotonic_views=False, fencing=False
)
ON: Final = Guards(fencing=False)

#: The cases by name: a function that makes the scenario.
CASES: Final[dict[str, Callable[[], Scenario]]] = {}


def case(make: Callable[[], Scenario]) -> Callable[[], Scenario]:
    """Add a case under the name of its function."""
    CASES[make.__name__] = make
    return make


def cm(name: str, data: Mapping[str, str] | None = None, *, namespace: str = "default") -> dict[str, Any]:
    """A config map."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {})}


def data_of(cluster: Cluster, name: str) -> dict[str, str]:
    """The data of a config map, empty where it does not exist."""
    try:
        return dict(cluster.get(CM, name).get("data") or {})
    except NotFound:
        return {}


async def patched(api: Api, obj: dict[str, Any], **fields: Any) -> None:
    """A merge patch of top-level fields, from the object as it was read."""
    base = copy.deepcopy(obj)
    for name, value in fields.items():
        obj[name] = {**(obj.get(name) or {}), **value}
    await api.patch(obj, merge_from(base))


async def made(api: Api, obj: dict[str, Any]) -> bool:
    """Create an object; whether it was not there."""
    try:
        await api.create(obj)
    except AlreadyExists:
        return False
    return True


class Flickers(Controller):
    """Makes a config map and deletes it again."""

    kind = W
    name = "flickers"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        w = await api.get(W, request)
        if w["metadata"].get("labels"):
            return
        if await made(api, cm("x", {"a": "1"})):
            await api.delete(cm("x"))
        await patched(api, w, metadata={**w["metadata"], "labels": {"done": "1"}})
