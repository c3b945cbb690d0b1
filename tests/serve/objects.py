"""Objects that the tests of the server begin with."""

from __future__ import annotations

from typing import Any

from definitions import definition

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
    return definition(schema={"openAPIV3Schema": schema})


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    """A Widget."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
