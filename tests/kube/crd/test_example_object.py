"""Generated objects are valid: the server accepts them."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.kube.crd.example_object import example_object
from kontend.kube.crd.permissive import permissive_crd

KIND = "Widget.example.com/v1"


def definition(spec: dict[str, Any], *, required: tuple[str, ...] = ("spec",)) -> dict[str, Any]:
    """A definition with a schema for the spec."""
    crd = permissive_crd(KIND)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "required": list(required),
        "properties": {"spec": {"type": "object", **spec}},
    }
    return crd


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "example"),
        ({"type": "string", "enum": ["Small", "Large"]}, "Small"),
        ({"type": "string", "minLength": 10}, "example.com"),
        ({"type": "string", "maxLength": 3}, "1"),
        ({"type": "string", "minLength": 100}, "example" * 15),
        ({"type": "string", "pattern": "^[0-9]+(Mi|Gi)$"}, "1Gi"),
        ({"type": "string", "format": "date-time"}, "2024-01-01T00:00:00Z"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "minimum": 2, "multipleOf": 5}, 5),
        ({"type": "boolean"}, True),
        ({"x-kubernetes-int-or-string": True}, 1),
        ({"type": "array", "minItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
         ["example", "example1"]),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}, {"a": 1}),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}, {"example0": "example"}),
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
          "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}),
    ],
)  # fmt: skip
def test_required_fields_have_valid_values(schema: dict[str, Any], value: Any) -> None:
    crd = definition({"required": ["field"], "properties": {"field": schema, "other": {"type": "string"}}})
    obj = example_object(crd, "v1")
    assert obj["spec"] == {"field": value}
    assert Cluster(crds=[crd], objects=[obj]).get(KIND, "example")["spec"] == {"field": value}


def test_defaults_are_set_by_the_server() -> None:
    crd = definition({"properties": {"size": {"type": "integer", "default": 7}}})
    obj = example_object(crd, "v1")
    assert obj["spec"] == {}
    assert Cluster(crds=[crd], objects=[obj]).get(KIND, "example")["spec"] == {"size": 7}
