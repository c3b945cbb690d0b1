"""Objects that the tests of the server begin with."""

from __future__ import annotations

from typing import Any

WIDGETS_PATH = "/apis/example.com/v1/namespaces/default/widgets"


def widgets(**spec: Any) -> dict[str, Any]:
    """A definition of a kind Widget with a status."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer"}, **spec}},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    """A Widget."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
