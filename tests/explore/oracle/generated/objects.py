"""The kinds and objects of generated scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kontend.kube.meta.names import parse_kind

W: Final = "Widget.example.com/v1"
W2: Final = "Widget.example.com/v2"
G: Final = "Gadget.example.com/v1"
CM: Final = "ConfigMap/v1"
SECRET: Final = "Secret/v1"
LEASE: Final = "Lease.coordination.k8s.io/v1"
POD: Final = "Pod/v1"
BUDGET: Final = "PodDisruptionBudget.policy/v1"
NAMESPACE: Final = "Namespace/v1"

Json = Any


def blank(kind: str, namespace: str, name: str) -> dict[str, Any]:
    """The smallest object of a kind."""
    named = parse_kind(kind)
    obj: dict[str, Any] = {"apiVersion": named.api_version, "kind": named.kind, "metadata": {"name": name}}
    if kind != NAMESPACE:
        obj["metadata"]["namespace"] = namespace
    if kind in (W, W2, G):
        obj["spec"] = {"size": 1}
    elif kind == LEASE:
        obj["spec"] = {}
    elif kind == POD:
        obj["metadata"]["labels"] = {"app": "p"}
        obj["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        obj["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    elif kind == BUDGET:
        obj["spec"] = {"selector": {"matchLabels": {"app": "p"}}, "maxUnavailable": 1}
        counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        obj["status"] = {"disruptionsAllowed": 0, "observedGeneration": 1, **counts}
    return obj


def put(obj: dict[str, Any], path: Sequence[str], value: Json) -> None:
    """Set a field, with text where Kubernetes wants text."""
    if path[0] in ("metadata", "data") and not isinstance(value, (str, list, type(None))):
        value = str(value)
    for name in path[:-1]:
        if not isinstance(obj.get(name), dict):
            obj[name] = {}
        obj = obj[name]
    obj[path[-1]] = value


def at(obj: Any, path: Sequence[str]) -> Json:
    """A field, or None."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
