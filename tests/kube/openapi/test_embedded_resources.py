"""Embedded resources."""

from __future__ import annotations

from typing import Any

from kontend.kube.openapi.validation import validate
from kontend.kube.schema.structural import structural_schema

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
LIST = structural_schema({"type": "object", "properties": {"list": {"type": "array", "items": EMBEDDED}}})


def errors(*resources: Any) -> list[str]:
    return [str(error) for error in validate({"list": list(resources)}, LIST)]


def test_an_embedded_resource_must_say_what_it_is() -> None:
    assert errors({}) == ["list[0].apiVersion: Required value", "list[0].kind: Required value"]


def test_a_good_one_passes() -> None:
    assert errors({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "anything": 1}) == []


def test_its_type_must_be_readable() -> None:
    assert errors({"apiVersion": "a/b/c", "kind": ""}) == [
        'list[0].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'list[0].kind: Invalid value: "": must not be empty',
    ]
    assert errors({"apiVersion": 1, "kind": "K k"})[0] == "list[0].apiVersion: Invalid value: 1: must be a string"


def test_its_metadata_obeys_the_rules_of_metadata() -> None:
    mistakes = errors({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}})
    assert len(mistakes) == 1
    assert mistakes[0].startswith('list[0].metadata.labels: Invalid value: "a b": ')
