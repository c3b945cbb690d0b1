"""The metadata that all kinds share."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.errors import BadRequest
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain, path_segment
from kontend.kube.meta.object_meta import (
    dedup_owner_references,
    finalizer_warnings,
    validate_field_manager,
    validate_object_meta,
    validate_object_meta_update,
)
from kontend.kube.openapi.object_meta import coerce_object_meta

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u-1"}


def complaints(namespaced: bool = True, rule: Any = dns1123_subdomain, **meta: Any) -> list[str]:
    whole = {"name": "x", "namespace": "ns", **meta}
    return [str(error) for error in validate_object_meta(whole, namespaced=namespaced, name_rule=rule)]


def update_complaints(old: dict[str, Any], **changes: Any) -> list[str]:
    before = {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "1", **old}
    return [str(error) for error in validate_object_meta_update({**before, **changes}, before)]


def test_ordinary_metadata_passes() -> None:
    assert (
        complaints(
            generateName="x-",
            generation=3,
            labels={"app.kubernetes.io/name": "x", "a": ""},
            annotations={"Example.com/A": "anything at all\n"},
            ownerReferences=[{**OWNER, "controller": True}, {**OWNER, "uid": "u-2", "controller": False}],
            finalizers=["example.com/x", "foregroundDeletion"],
            managedFields=[{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {}}],
        )
        == []
    )


@pytest.mark.parametrize(
    ("meta", "start"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "A"}, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must'),
        ({"generateName": "A--"}, 'metadata.generateName: Invalid value: "A--": a lowercase RFC 1123'),
        ({"namespace": ""}, "metadata.namespace: Required value"),
        ({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": must not contain dots'),
        ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        ({"labels": {"a b": "1"}}, 'metadata.labels: Invalid value: "a b": name part must consist of'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be an empty string'),
        ({"annotations": {"a b": "1"}}, 'metadata.annotations: Invalid value: "a b": name part must consist of'),
        ({"annotations": {"a": "x" * 262144}}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part must consist of'),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": ""}]},
            'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "apps/"}]},
            'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
        ),
        (
            {"ownerReferences": [{**OWNER, "uid": ""}]},
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]},
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: '
            "/v1, Kind=Event is disallowed from being an owner",
        ),
        (
            {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "name": "e", "controller": True}]},
            "metadata.ownerReferences: Invalid value: "
            '[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u-1","controller":true},'
            '{"apiVersion":"apps/v1","kind":"Deployment","name":"e","uid":"u-1","controller":true}]: '
            'Only one reference can have Controller set to true. Found "true" in references for '
            "Deployment/d and Deployment/e",
        ),
        (
            {"managedFields": [{"operation": "Patch", "manager": "m"}]},
            'metadata.managedFields[0].operation: Invalid value: "Patch": must be `Apply` or `Update`',
        ),
        (
            {"managedFields": [{"operation": "Apply", "fieldsType": "V2"}]},
            'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
        ),
    ],
)
def test_a_single_mistake_has_a_single_complaint(meta: dict[str, Any], start: str) -> None:
    messages = complaints(**meta)
    assert len(messages) == 1
    assert messages[0].startswith(start)


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert complaints(namespaced=False) == ["metadata.namespace: Forbidden: not allowed on this type"]
    assert complaints(namespaced=False, namespace="") == []


def test_a_generated_names_trailing_dash_passes_every_rule() -> None:
    assert complaints(rule=dns1035_label, generateName="web-") == []
    assert complaints(rule=path_segment, generateName="..") == []


def test_mistakes_are_listed_in_the_servers_order() -> None:
    messages = complaints(finalizers=["a b"], labels={"a": "b c"}, annotations={"c d": ""}, name="A", generateName="B")
    assert [error.partition(":")[0] for error in messages] == [
        "metadata.generateName",
        "metadata.name",
        "metadata.labels",
        "metadata.annotations",
        "metadata.finalizers",
    ]


@pytest.mark.parametrize(
    ("old", "changes", "complaint"),
    [
        ({}, {"resourceVersion": ""}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"generation": 3}, {"generation": 2}, "metadata.generation: Invalid value: 2: must not be decremented"),
        ({}, {"uid": "other"}, 'metadata.uid: Invalid value: "other": field is immutable'),
        ({}, {"name": "y"}, 'metadata.name: Invalid value: "y": field is immutable'),
        ({}, {"namespace": None}, 'metadata.namespace: Invalid value: "": field is immutable'),
        (
            {"creationTimestamp": "2026-01-01T00:00:00Z"},
            {"creationTimestamp": "2026-01-01T00:00:01Z"},
            'metadata.creationTimestamp: Invalid value: "2026-01-01T00:00:01Z": field is immutable',
        ),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            {"deletionTimestamp": None},
            "metadata.deletionTimestamp: Invalid value: null: field is immutable",
        ),
        (
            {},
            {"deletionGracePeriodSeconds": 0},
            "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
        ),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.io/x"]},
            {"finalizers": ["a.io/x", "c.io/z", "b.io/y"]},
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"b.io/y", "c.io/z"}',
        ),
    ],
)
def test_an_update_may_not_change_what_is_fixed(old: dict[str, Any], changes: dict[str, Any], complaint: str) -> None:
    assert update_complaints(old, **changes) == [complaint]


def test_finalizers_may_go_while_the_object_is_being_deleted() -> None:
    old = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.io/x"]}
    assert update_complaints(old, finalizers=[]) == []


def test_repeated_owners_are_dropped_with_a_warning() -> None:
    meta: dict[str, Any] = {"ownerReferences": [OWNER, dict(OWNER), {**OWNER, "name": "e"}]}
    assert dedup_owner_references(meta) == [
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u-1"
    ]
    assert meta["ownerReferences"] == [OWNER, {**OWNER, "name": "e"}]
    assert dedup_owner_references(meta) == []
    assert dedup_owner_references({}) == []


def test_custom_resources_are_warned_about_bare_finalizers() -> None:
    assert finalizer_warnings(["example.com/x", "kubernetes"]) == []
    assert finalizer_warnings(["a.b"]) == [
        'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers"
    ]


def test_a_field_manager_is_short_and_printable() -> None:
    assert validate_field_manager("kubectl-client-side-apply") == []
    assert str(validate_field_manager("x" * 129)[0]) == "fieldManager: Too long: may not be more than 128 bytes"
    assert str(validate_field_manager("é\n")[0]).endswith("invalid character U+000A (at position 2)")


def test_coercing_keeps_what_is_known_and_drops_what_is_empty() -> None:
    raw = {
        "name": "w",
        "color": "red",
        "labels": {"a": None},
        "annotations": {},
        "creationTimestamp": None,
        "deletionTimestamp": "2026-01-01T01:00:00.5+01:00",
        "finalizers": [],
        "ownerReferences": [{"name": "o", "shade": 1}],
    }
    assert coerce_object_meta(raw) == (
        {
            "name": "w",
            "labels": {"a": ""},
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "", "kind": "", "name": "o", "uid": ""}],
        },
        ["metadata.color", "metadata.ownerReferences[0].shade"],
    )
    assert coerce_object_meta(None) == ({}, [])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        ("x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        (
            {"name": True, "labels": []},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
    ],
)
def test_coercing_refuses_wrong_types_in_the_words_of_go(raw: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        coerce_object_meta(raw)
    assert refused.value.message == message
