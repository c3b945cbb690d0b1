"""The pods behind a service: which they are, at which address and port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from kontend.controllers.workloads.pods import is_finished
from kontend.kube.meta.accessors import labels_of
from kontend.kube.meta.names import Key, key_of
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object

SERVICES: Final = "Service/v1"
HEADLESS: Final = "service.kubernetes.io/headless"


def services_of(pod: Object, cache: Cache) -> Iterator[Key]:
    """Yield the services that select a pod."""
    labels = labels_of(pod)
    for service in cache.list(SERVICES, namespace=pod["metadata"]["namespace"]):
        selector = (service.get("spec") or {}).get("selector")
        if selector and all(labels.get(name) == value for name, value in selector.items()):
            yield key_of(service)


async def pods_behind(api: Api, pods: str, service: Object) -> list[Object]:
    """Return the pods that a service selects and that have an address."""
    selector: dict[str, str] = service["spec"]["selector"]
    selected = await api.list(pods, namespace=service["metadata"]["namespace"], labels=selector)
    return [pod for pod in selected if not is_finished(pod) and addresses_of(pod)]


def addresses_of(pod: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a pod."""
    status = pod.get("status") or {}
    many = [address["ip"] for address in status.get("podIPs") or () if address.get("ip")]
    return many or [status["podIP"]] if many or status.get("podIP") else []


def addresses_in(pod: Mapping[str, Any], family: str) -> list[str]:
    """Return the addresses of a pod in a family, ``IPv4`` or ``IPv6``."""
    return [text for text in addresses_of(pod) if f"IPv{ip_address(text).version}" == family]


def is_selected(service: Mapping[str, Any]) -> bool:
    """Report whether a service finds its endpoints by a selector."""
    spec = service.get("spec") or {}
    return spec.get("type") != "ExternalName" and bool(spec.get("selector"))


def is_headless(service: Mapping[str, Any]) -> bool:
    """Report whether a service has no address of its own."""
    return service["spec"].get("clusterIP") in (None, "", "None")


def port_of(pod: Mapping[str, Any], service_port: Mapping[str, Any]) -> int | None:
    """Return the number of a service's port on a pod; None when it is named and the pod has no port of that name."""
    target = service_port.get("targetPort")
    if isinstance(target, int):
        return target
    spec = pod.get("spec") or {}
    aside = [sidecar for sidecar in spec.get("initContainers") or () if sidecar.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *aside):
        for port in container.get("ports") or ():
            same = (port.get("protocol") or "TCP") == (service_port.get("protocol") or "TCP")
            if port.get("name") == target and same:
                return int(port["containerPort"])
    return None


def hostname_of(pod: Mapping[str, Any], service: Mapping[str, Any]) -> str:
    """Return the name under which a pod is found below a service, if any."""
    spec = pod.get("spec") or {}
    return (
        str(spec["hostname"]) if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"] else ""
    )


def reference_to(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference to a pod."""
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
