"""The mirroring controller: Endpoints that somebody writes for a service without a selector, again as EndpointSlices.

Proxies read slices only. There is one slice for each set of ports and each family of addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, ClassVar, Final

import orjson

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.networking.endpoint_slice import SLICES
from kontend.controllers.networking.endpoints import ENDPOINTS, repacked
from kontend.controllers.networking.service_pods import SERVICES
from kontend.controllers.workloads.pods import is_namespace_terminating
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import is_deleting
from kontend.kube.meta.names import Key, key_of
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result
from kontend.runtime.writes.owners import owner_reference

_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_OURS: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = frozenset(
    {"endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration"}
)
_MOST: Final = 1000

#: The family of the addresses and the ports.
_Group = tuple[str, bytes]


def _same_name(obj: Object, _cache: Cache) -> list[Key]:
    return [key_of(obj)]


def _mirrored(slice_: Object, _cache: Cache) -> Iterator[Key]:
    labels = slice_["metadata"].get("labels") or {}
    if labels.get(_SERVICE) and labels.get(_MANAGED_BY) == _OURS:
        yield Key(slice_["metadata"]["namespace"], labels[_SERVICE])


class EndpointMirroring(BuiltIn):
    """Mirrors Endpoints into slices."""

    name = "endpointslicemirroring"
    kind = ENDPOINTS
    watches: ClassVar[Mapping[str, Mapper]] = {SERVICES: _same_name, SLICES: _mirrored}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Write the slices of Endpoints, as far as they changed, and delete those that are not needed."""
        labels = {_SERVICE: request.name, _MANAGED_BY: _OURS}
        existing: dict[_Group, list[Object]] = {}
        for slice_ in await api.list(SLICES, namespace=request.namespace, labels=labels):
            group = slice_["addressType"], _port_key(slice_.get("ports") or [])
            existing.setdefault(group, []).append(slice_)
        endpoints = await _to_mirror(api, request)
        for new in [] if endpoints is None else _slices(endpoints):
            same = existing.get((new["addressType"], _port_key(new["ports"])))
            if same:
                await _update(api, same.pop(0), new)
            else:
                await _create(api, new)
        for slices in existing.values():
            for slice_ in slices:
                await _delete(api, slice_)
        return None


async def _to_mirror(api: Api, request: Request) -> Object | None:
    """Return the Endpoints that slices have to mirror."""
    key = Key(request.namespace, request.name)
    try:
        endpoints = await api.get(ENDPOINTS, key)
        service = await api.get(SERVICES, key)
    except NotFound:
        return None
    metadata = endpoints["metadata"]
    skipped = (metadata.get("labels") or {}).get(_SKIP) == "true" or _LEADER in (metadata.get("annotations") or {})
    if skipped or is_deleting(endpoints) or (service.get("spec") or {}).get("selector") is not None:
        return None
    return endpoints


def _slices(endpoints: Object) -> Iterator[Object]:
    """Yield the slices of Endpoints: one for the addresses of a family with the same ports."""
    metadata = endpoints["metadata"]
    annotations = {
        name: value for name, value in (metadata.get("annotations") or {}).items() if name not in _NOT_COPIED
    }
    for subset in repacked(endpoints.get("subsets") or []):
        families: dict[str, list[dict[str, Any]]] = {}
        for where in ("addresses", "notReadyAddresses"):
            for address in subset.get(where) or ():
                found = _endpoint(address, ready=where == "addresses")
                if found is not None and sum(map(len, families.values())) < _MOST:
                    families.setdefault(found[0], []).append(found[1])
        for family, members in families.items():
            yield {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "generateName": f"{metadata['name']}-",
                    "namespace": metadata["namespace"],
                    "labels": {**(metadata.get("labels") or {}), _SERVICE: metadata["name"], _MANAGED_BY: _OURS},
                    **({"annotations": annotations} if annotations else {}),
                    "ownerReferences": [owner_reference(endpoints, controller=True)],
                },
                "addressType": family,
                "endpoints": members,
                "ports": [{"name": "", **port} for port in subset.get("ports") or ()],
            }


def _endpoint(address: Mapping[str, Any], *, ready: bool) -> tuple[str, dict[str, Any]] | None:
    """Return the family of an address, and its endpoint; None for one that is not an address."""
    try:
        parsed = ip_address(address["ip"])
    except ValueError:
        return None
    more = {name: address[name] for name in ("targetRef", "nodeName", "hostname") if address.get(name)}
    return f"IPv{parsed.version}", {"addresses": [str(parsed)], "conditions": {"ready": ready}, **more}


def _port_key(ports: list[dict[str, Any]]) -> bytes:
    return orjson.dumps(sorted(orjson.dumps(port, option=orjson.OPT_SORT_KEYS).decode() for port in ports))


async def _create(api: Api, slice_: Object) -> None:
    try:
        await api.create(slice_)
    except ApiError as error:
        if not is_namespace_terminating(error):
            raise


async def _update(api: Api, old: Object, new: Object) -> None:
    """Write what differs: a slice keeps its name."""
    changed = {**old, "endpoints": new["endpoints"], "metadata": {**old["metadata"]}}
    for part in ("labels", "annotations", "ownerReferences"):
        changed["metadata"].pop(part, None)
        if part in new["metadata"]:
            changed["metadata"][part] = new["metadata"][part]
    if changed != old:
        await api.update(changed)


async def _delete(api: Api, slice_: Object) -> None:
    try:
        await api.delete(slice_)
    except NotFound:
        return
