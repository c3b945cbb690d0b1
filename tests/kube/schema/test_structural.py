"""Schemas of custom resources as the shared tree."""

from __future__ import annotations

from kontend.kube.schema.structural import structural_schema
from kontend.kube.schema.tree import MISSING


def test_what_every_object_has_is_implied_at_the_root_and_in_embedded_resources() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    root = structural_schema({"type": "object", "properties": {"template": embedded}})
    assert set(root.properties) == {"apiVersion", "kind", "metadata", "template"}
    assert set(root.properties["template"].properties) == {"apiVersion", "kind", "metadata"}


def test_the_extensions_become_attributes() -> None:
    port = {"type": "object", "properties": {"port": {"type": "integer"}}}
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        "items": port,
    }
    spec = {
        "ports": ports,
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "config": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "size": {"x-kubernetes-int-or-string": True},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "nullable": True},
    }
    properties = structural_schema({"type": "object", "properties": spec}).properties
    assert properties["ports"].list_type == "map"
    assert properties["ports"].map_keys == ("port",)
    assert properties["tags"].list_type == "set"
    assert properties["config"].atomic
    assert properties["config"].additional is not None
    assert properties["size"].int_or_string
    assert properties["size"].type == ""
    assert properties["extra"].preserve_unknown
    assert properties["extra"].nullable


def test_a_null_default_is_no_default() -> None:
    root = structural_schema({"type": "object", "properties": {"a": {"type": "string", "default": None}}})
    assert root.properties["a"].default is MISSING


def test_defaults_lose_what_their_schema_does_not_know() -> None:
    node = {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": "x", "b": "y"}}
    assert structural_schema({"type": "object", "properties": {"spec": node}}).properties["spec"].default == {"a": "x"}


def test_keywords_of_the_wrong_type_say_nothing() -> None:
    root = structural_schema(
        {"type": "object", "properties": {"a": {"type": 5, "items": "x", "maxLength": "y"}, "b": 1}}
    )
    assert root.properties["a"].type == ""
    assert root.properties["b"].type == ""
