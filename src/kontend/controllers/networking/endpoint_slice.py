"""The EndpointSlice controller: the addresses behind a service, up to a hundred in each slice.

Endpoints stay in the slice they are in, so that one pod's change is one slice's change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final

import orjson

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.networking.service_pods import (
    HEADLESS,
    SERVICES,
    addresses_in,
    hostname_of,
    is_headless,
    is_selected,
    pods_behind,
    port_of,
    reference_to,
    services_of,
)
from kontend.controllers.nodes.node_fit import NODES
from kontend.controllers.workloads.pods import PODS, is_namespace_terminating, is_ready
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import is_deleting, owner_references, uid_of
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result
from kontend.runtime.writes.owners import owner_reference

SLICES: Final = "EndpointSlice.discovery.k8s.io/v1"
_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_OURS: Final = "endpointslice-controller.k8s.io"
_ZONE: Final = "topology.kubernetes.io/zone"
_MOST: Final = 100

Ports = list[dict[str, Any]]
Endpoint = dict[str, Any]


def _service_of(slice_: Object, _cache: Cache) -> Iterator[Key]:
    labels = slice_["metadata"].get("labels") or {}
    if labels.get(_SERVICE) and labels.get(_MANAGED_BY) == _OURS:
        yield Key(slice_["metadata"]["namespace"], labels[_SERVICE])


class EndpointSlices(BuiltIn):
    """Lists the addresses behind services, in slices."""

    name = "endpointslice"
    kind = SERVICES
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: services_of, SLICES: _service_of}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Write the slices of a service, as far as they changed."""
        try:
            service = await api.get(SERVICES, request)
        except NotFound:
            return None  # its slices are owned by it and go with it
        if not is_selected(service) or is_deleting(service):
            return None
        labels = {_SERVICE: request.name, _MANAGED_BY: _OURS}
        existing = await api.list(SLICES, namespace=request.namespace, labels=labels)
        pods = await pods_behind(api, PODS, service)
        nodes = {node["metadata"]["name"]: node for node in await api.list(NODES)} if pods else {}
        for family in service["spec"].get("ipFamilies") or ["IPv4"]:
            mine = [known_slice for known_slice in existing if known_slice.get("addressType") == family]
            await self._write(api, service, family, mine, _desired(service, pods, nodes, family))
        for stray in existing:
            if stray.get("addressType") not in (service["spec"].get("ipFamilies") or ["IPv4"]):
                await _delete(api, stray)
        return None

    async def _write(
        self,
        api: Api,
        service: Object,
        family: str,
        existing: list[Object],
        desired: dict[bytes, tuple[Ports, list[Endpoint]]],
    ) -> None:
        """Fill existing slices, make new ones, and delete what is not needed."""
        owned = [
            known_slice
            for known_slice in existing
            if any(o.get("uid") == uid_of(service) for o in owner_references(known_slice))
        ]
        stray = [known_slice for known_slice in existing if known_slice not in owned]
        labels = _labels(service)
        kept = False
        for key, (ports, endpoints) in desired.items():
            same_ports = [known_slice for known_slice in owned if _port_key(known_slice.get("ports") or []) == key]
            owned = [known_slice for known_slice in owned if known_slice not in same_ports]
            filled = _fill(same_ports, endpoints)
            for slice_, content in filled:
                if not content:
                    stray.append(slice_)
                    continue
                kept = True
                if (slice_.get("endpoints") or []) != content or (slice_["metadata"].get("labels") or {}) != labels:
                    slice_["endpoints"] = content
                    slice_["metadata"]["labels"] = labels
                    await api.update(slice_)
            placed = sum(len(content) for _, content in filled)
            left = _left_over(filled, endpoints) if placed < len(endpoints) else []
            for start in range(0, len(left), _MOST):
                kept = True
                await _create(api, _new_slice(service, family, ports, left[start : start + _MOST], labels))
        stray += owned
        if not kept:
            # A service without endpoints has one empty slice, so that clients can tell it from an unknown service.
            empty = next(
                (
                    known_slice
                    for known_slice in stray
                    if not known_slice.get("endpoints") and not known_slice.get("ports")
                ),
                None,
            )
            if empty is None:
                await _create(api, _new_slice(service, family, [], [], labels))
            else:
                stray.remove(empty)
                if (empty["metadata"].get("labels") or {}) != labels:
                    empty["metadata"]["labels"] = labels
                    await api.update(empty)
        for slice_ in stray:
            await _delete(api, slice_)


def _desired(
    service: Object, pods: list[Object], nodes: Mapping[str, Object], family: str
) -> dict[bytes, tuple[Ports, list[Endpoint]]]:
    """Return the endpoints of a service, by the ports that they are reached at."""
    unready_too = bool(service["spec"].get("publishNotReadyAddresses"))
    desired: dict[bytes, tuple[Ports, list[Endpoint]]] = {}
    for pod in pods:
        node = nodes.get(pod["spec"].get("nodeName") or "")
        addresses = addresses_in(pod, family)
        if not addresses or (node is None and not unready_too):
            continue
        ports = _ports(service, pod)
        endpoints = desired.setdefault(_port_key(ports), (ports, []))[1]
        serving, terminating = is_ready(pod), is_deleting(pod)
        endpoint: Endpoint = {
            "addresses": addresses,
            "conditions": {
                "ready": unready_too or (serving and not terminating),
                "serving": serving,
                "terminating": terminating,
            },
            "targetRef": reference_to(pod),
        }
        if pod["spec"].get("nodeName"):
            endpoint["nodeName"] = pod["spec"]["nodeName"]
        zone = ((node or {}).get("metadata") or {}).get("labels", {}).get(_ZONE)
        if zone:
            endpoint["zone"] = zone
        if hostname_of(pod, service):
            endpoint["hostname"] = hostname_of(pod, service)
        endpoints.append(endpoint)
    return desired


def _ports(service: Object, pod: Object) -> Ports:
    ports = []
    for port in service["spec"].get("ports") or ():
        number = port_of(pod, port)
        if number is not None:
            shown = {"name": port.get("name") or "", "port": number, "protocol": port.get("protocol") or "TCP"}
            ports.append({**shown, **({"appProtocol": port["appProtocol"]} if port.get("appProtocol") else {})})
    return ports


def _port_key(ports: Ports) -> bytes:
    return orjson.dumps(sorted(orjson.dumps(port, option=orjson.OPT_SORT_KEYS).decode() for port in ports))


def _who(endpoint: Endpoint) -> str:
    return str((endpoint.get("targetRef") or {}).get("uid") or endpoint["addresses"][0])


def _fill(slices: list[Object], endpoints: list[Endpoint]) -> list[tuple[Object, list[Endpoint]]]:
    """Return the content of existing slices: endpoints stay where they are, new ones go where there is room."""
    wanted = {_who(endpoint): endpoint for endpoint in endpoints}
    filled = []
    for slice_ in slices:
        members = [wanted.pop(_who(endpoint)) for endpoint in slice_.get("endpoints") or () if _who(endpoint) in wanted]
        filled.append((slice_, members))
    for _, members in sorted(filled, key=lambda known_slice: -len(known_slice[1])):
        while wanted and len(members) < _MOST:
            members.append(wanted.pop(next(iter(wanted))))
    return filled


def _left_over(filled: list[tuple[Object, list[Endpoint]]], endpoints: list[Endpoint]) -> list[Endpoint]:
    placed = {_who(endpoint) for _, members in filled for endpoint in members}
    return [endpoint for endpoint in endpoints if _who(endpoint) not in placed]


def _labels(service: Object) -> dict[str, str]:
    labels = {**(service["metadata"].get("labels") or {})}
    labels.pop(HEADLESS, None)
    if is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, _SERVICE: service["metadata"]["name"], _MANAGED_BY: _OURS}


def _new_slice(service: Object, family: str, ports: Ports, endpoints: list[Endpoint], labels: dict[str, str]) -> Object:
    metadata = service["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": dict(labels),
            "ownerReferences": [owner_reference(service, controller=True)],
        },
        "addressType": family,
        "endpoints": deepcopy(endpoints),
        "ports": deepcopy(ports),
    }


async def _create(api: Api, slice_: Object) -> None:
    try:
        await api.create(slice_)
    except ApiError as error:
        if not is_namespace_terminating(error):
            raise


async def _delete(api: Api, slice_: Object) -> None:
    try:
        await api.delete(slice_)
    except NotFound:
        return
