"""Defaults of the small kinds of the core group."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.defaults.quantities import round_up
from kontend.kube.json_types import Json

_AFFINITY_SECONDS: Final = 10800


def service(obj: Json) -> None:
    """A Service has a cluster address and sends a port to the same port."""
    spec = obj["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        given = spec.get("sessionAffinityConfig") or {}
        if "timeoutSeconds" not in (given.get("clientIP") or {}):
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    if kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("LoadBalancer", "NodePort", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"]["loadBalancer"].get("ingress", ()):
            if "ip" in ingress:
                ingress.setdefault("ipMode", "VIP")


def secret(obj: Json) -> None:
    """A Secret is opaque."""
    obj.setdefault("type", "Opaque")


def endpoints(obj: Json) -> None:
    """The ports of Endpoints speak TCP."""
    for subset in obj.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def namespace(obj: Json) -> None:
    """A Namespace is active and labelled with its name."""
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    obj["status"].setdefault("phase", "Active")


def node(obj: Json) -> None:
    """All that a Node has can be allocated."""
    status = obj["status"]
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    round_up(status.get("capacity"))
    round_up(status.get("allocatable"))


def limit_range(obj: Json) -> None:
    """Limits for containers: the default is the maximum, the default request is the default or else the minimum."""
    for item in obj["spec"]["limits"] or ():
        if item["type"] == "Container":
            default = {**item.get("max", {}), **item.get("default", {})}
            request = {**item.get("min", {}), **default, **item.get("defaultRequest", {})}
            if default:
                item["default"] = default
            if request:
                item["defaultRequest"] = request
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up(item.get(name))


def resource_quota(obj: Json) -> None:
    """Quotas count in thousandths."""
    round_up(obj["spec"].get("hard"))
    round_up(obj["status"].get("hard"))
    round_up(obj["status"].get("used"))
