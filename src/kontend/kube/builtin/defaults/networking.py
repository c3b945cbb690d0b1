"""Defaults of network policies, ingress classes and endpoint slices."""

from __future__ import annotations

from kontend.kube.json_types import Json


def network_policy(obj: Json) -> None:
    """A policy is about ingress, and about egress if it has rules for that."""
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")


def ingress_class(obj: Json) -> None:
    """Parameters of a class are cluster-scoped."""
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def endpoint_slice(obj: Json) -> None:
    """The ports of a slice are nameless and speak TCP."""
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
