"""The Endpoints controller: for each service an object of the same name with the addresses of its pods."""

from __future__ import annotations

from collections.abc import Mapping
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
from kontend.controllers.workloads.pods import PODS, is_namespace_terminating, is_ready
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import is_deleting
from kontend.kube.meta.names import Key, key_of
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

ENDPOINTS: Final = "Endpoints/v1"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_OURS: Final = "endpoint-controller"
_OVER: Final = "endpoints.kubernetes.io/over-capacity"
_MOST: Final = 1000


def _service_of(endpoints: Object, _cache: Cache) -> list[Key]:
    return [key_of(endpoints)]


class Endpoints(BuiltIn):
    """Lists the addresses behind services."""

    name = "endpoint"
    kind = SERVICES
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: services_of, ENDPOINTS: _service_of}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Write the addresses behind a service, if they changed."""
        existing = await self._existing(api, request)
        try:
            service = await api.get(SERVICES, request)
        except NotFound:
            if existing is not None and (existing["metadata"].get("labels") or {}).get(_MANAGED_BY) == _OURS:
                await self._delete(api, existing)
            return None
        if not is_selected(service):
            return None
        subsets = repacked(await self._subsets(api, service))
        metadata = service["metadata"]
        labels = {**(metadata.get("labels") or {}), _MANAGED_BY: _OURS}
        labels.pop(HEADLESS, None)
        if is_headless(service):
            labels[HEADLESS] = ""
        if existing is not None:
            known = existing.get("subsets") or [], existing["metadata"].get("labels") or {}
            if known == (subsets, labels):
                return None
        new = existing or {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        }
        new["metadata"]["labels"] = labels
        new["subsets"] = subsets
        await self._write(api, new, create=existing is None)
        return None

    async def _existing(self, api: Api, request: Request) -> Object | None:
        try:
            return await api.get(ENDPOINTS, Key(request.namespace, request.name))
        except NotFound:
            return None

    async def _delete(self, api: Api, endpoints: Object) -> None:
        try:
            await api.delete(endpoints)
        except NotFound:
            return

    async def _write(self, api: Api, endpoints: Object, *, create: bool) -> None:
        annotations = endpoints["metadata"].setdefault("annotations", {})
        annotations.pop(_OVER, None)
        if sum(len(subset.get("addresses", ())) for subset in endpoints["subsets"]) > _MOST:
            annotations[_OVER] = "truncated"
            _truncate(endpoints["subsets"])
        if not annotations:
            del endpoints["metadata"]["annotations"]
        try:
            await (api.create(endpoints) if create else api.update(endpoints))
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise

    async def _subsets(self, api: Api, service: Object) -> list[dict[str, Any]]:
        """Return a subset for each pod and port."""
        spec = service["spec"]
        family = (spec.get("ipFamilies") or ["IPv4"])[0]
        unready_too = bool(spec.get("publishNotReadyAddresses"))
        subsets = []
        for pod in await pods_behind(api, PODS, service):
            addresses = addresses_in(pod, family)
            if not addresses or (is_deleting(pod) and not unready_too):
                continue
            address: dict[str, Any] = {"ip": addresses[0]}
            if hostname_of(pod, service):
                address["hostname"] = hostname_of(pod, service)
            if pod["spec"].get("nodeName"):
                address["nodeName"] = pod["spec"]["nodeName"]
            address["targetRef"] = reference_to(pod)
            where = "addresses" if unready_too or is_ready(pod) else "notReadyAddresses"
            if not spec.get("ports"):
                if spec.get("clusterIP") == "None":
                    subsets.append({where: [address]})
                continue
            for port in spec["ports"]:
                number = port_of(pod, port)
                if number is not None:
                    shown = {"name": port.get("name"), "port": number, "protocol": port.get("protocol") or "TCP"}
                    shown["appProtocol"] = port.get("appProtocol")
                    shown = {name: value for name, value in shown.items() if value}
                    subsets.append({where: [address], "ports": [shown]})
        return subsets


def repacked(subsets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Subsets as short as they can be: addresses with the same ports together, everything in order."""
    ports: dict[bytes, dict[bytes, Any]] = {}
    addresses: dict[bytes, tuple[str, Any]] = {}
    for subset in subsets:
        for where in ("addresses", "notReadyAddresses"):
            for address in subset.get(where, ()):
                key = orjson.dumps([where, address], option=orjson.OPT_SORT_KEYS)
                addresses[key] = where, address
                open_ports = ports.setdefault(key, {})
                for port in subset.get("ports", ()):
                    open_ports[orjson.dumps(port, option=orjson.OPT_SORT_KEYS)] = port
    groups: dict[tuple[bytes, ...], dict[str, list[Any]]] = {}
    shown: dict[tuple[bytes, ...], list[Any]] = {}
    for key, open_ports in ports.items():
        group = tuple(sorted(open_ports))
        where, address = addresses[key]
        groups.setdefault(group, {}).setdefault(where, []).append(address)
        shown[group] = sorted(
            open_ports.values(), key=lambda port: (port.get("name", ""), port["port"], port["protocol"])
        )
    packed = []
    for group in sorted(groups):
        subset = {where: sorted(item, key=_by_address) for where, item in sorted(groups[group].items())}
        packed.append({**subset, **({"ports": shown[group]} if group else {})})
    return packed


def _by_address(address: Mapping[str, Any]) -> tuple[str, str]:
    return address["ip"], (address.get("targetRef") or {}).get("uid", "")


def _truncate(subsets: list[dict[str, Any]]) -> None:
    room = _MOST
    for subset in subsets:
        subset["addresses"] = subset.get("addresses", [])[:room]
        room -= len(subset["addresses"])
        subset.pop("notReadyAddresses", None)
