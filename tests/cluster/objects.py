"""Objects that the tests of this layer use."""

from __future__ import annotations

from typing import Any

from definitions import definition as definition

WIDGET = "Widget.example.com/v1"


def widget(name: str = "w", **fields: Any) -> dict[str, Any]:
    """A widget."""
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **fields}


def config_map(name: str = "c", **fields: Any) -> dict[str, Any]:
    """A ConfigMap."""
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    """A pod with one container."""
    containers = [{"name": "main", "image": "app:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str = "d") -> dict[str, Any]:
    """A Deployment with one container."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
