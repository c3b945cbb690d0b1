"""Validation of custom resources: the stages, their order, and what an update is forgiven."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from kontend.kube.field_errors import required
from kontend.kube.openapi.validation import scale_errors, validate
from kontend.kube.schema.structural import structural_schema
from kontend.kube.schema.tree import MISSING
from kube.custom_objects import SCHEMAS, objects

WIDGET = structural_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["name"],
                "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size < 10", "message": "too large"}],
                "properties": {
                    "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"},
                    "size": {"type": "integer", "minimum": 0},
                    "color": {"type": "string", "enum": ["red", "blue"]},
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "when": {"type": "string", "format": "date-time"},
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
)
BLOCKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def errors(spec: Any, old: Any = MISSING, **options: Any) -> list[str]:
    before = old if old is MISSING else {"spec": old}
    return [str(error) for error in validate({"spec": spec}, WIDGET, before, **options)]


def test_a_good_object_has_no_mistakes() -> None:
    assert errors({"name": "a", "size": 3, "color": "red", "tags": ["x"], "when": "2024-01-01T00:00:00Z"}) == []


def test_mistakes_are_told_in_the_words_of_the_server() -> None:
    assert errors({"name": "A", "size": -1}) == [
        "spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]+$'",
        "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
    ]


def test_a_mistake_that_makes_rules_senseless_skips_them_and_says_so() -> None:
    assert errors({"name": "a", "size": "1"}) == [
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
        BLOCKED,
    ]
    assert errors({}) == ["spec.name: Required value", BLOCKED]
    assert errors({"name": "abcdef"}) == ["spec.name: Too long: may not be more than 5 bytes", BLOCKED]
    assert errors({"name": "a", "color": "pink"}) == [
        'spec.color: Unsupported value: "pink": supported values: "red", "blue"',
        BLOCKED,
    ]


def test_a_mistake_found_before_counts_as_well() -> None:
    mistakes = errors({"name": "a"}, preceding=[required("metadata.name", "name or generateName is required")])
    assert mistakes == ["metadata.name: Required value: name or generateName is required", BLOCKED]


def test_duplicates_do_not_keep_rules_from_running() -> None:
    assert errors({"name": "a", "tags": ["x", "x"], "size": 11}) == [
        'spec.tags[1]: Duplicate value: "x"',
        "spec: Invalid value: too large",
    ]


def test_whole_floats_are_integers() -> None:
    assert errors({"name": "a", "when": 2.0})[0].endswith('must be of type date-time: "float64"')
    assert [error for error in errors({"name": "a", "size": 1.5}) if "integer" in error] == [
        'spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"'
    ]


def test_an_update_is_forgiven_what_it_does_not_touch() -> None:
    old = {"name": "A", "size": 3, "tags": ["x", "x"]}
    assert errors({**old, "size": 4}, old) == []
    assert errors({**old, "name": "B"}, old) == [
        "spec.name: Invalid value: \"B\": spec.name in body should match '^[a-z]+$'"
    ]


def test_a_number_that_becomes_true_is_a_change() -> None:
    assert errors({"name": "a", "size": True}, {"name": "a", "size": 1})[0].startswith("spec.size: Invalid value")


def test_a_status_write_checks_the_status_alone() -> None:
    old = {"spec": {"name": "WRONG"}}
    new = {**old, "status": {"phase": 1}}
    assert [str(error) for error in validate(new, WIDGET, old, status=True)] == [
        'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
        BLOCKED,
    ]


def test_a_wrong_kind_leaves_the_values_unchecked() -> None:
    assert errors({"name": 5}, wrong_type=True) == []


def test_replica_counts_must_be_counts() -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    assert [str(error) for error in scale_errors({"spec": {"replicas": -1}}, scale)] == [
        ".spec.replicas: Invalid value: -1: should be a non-negative integer"
    ]
    assert [str(error) for error in scale_errors({"spec": {"replicas": "x"}, "status": {}}, scale)] == [
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"
    ]
    assert scale_errors({"spec": {"replicas": -1}}, scale, status=True) == []


@given(SCHEMAS, objects(), objects())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_validation_never_raises_and_forgives_what_is_unchanged(schema: dict[str, Any], obj: Any, old: Any) -> None:
    tree = structural_schema(schema)
    fresh = {str(error) for error in validate(obj, tree)}
    assert {str(error) for error in validate(obj, tree, old)} <= fresh
