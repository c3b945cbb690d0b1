"""Ownership of the replicas through the scale subresource."""

from kontend.kube.apply.field_set import FieldSet
from kontend.kube.apply.managed_fields import ManagedEntry, ManagedFields, Operation, encode
from kontend.kube.apply.scale_fields import SCALE_VERSION, to_parent, to_scale

REPLICAS_AT = {"apps/v1": ("spec", "replicas"), "apps/v0": None}
NOW = "2026-01-01T00:00:00Z"


def entry(
    manager: str, *names: str, operation: Operation = "Update", version: str = "apps/v1", subresource: str = ""
) -> ManagedEntry:
    fields = FieldSet.of_paths([("spec", name) for name in names])
    return ManagedEntry(manager, operation, version, NOW, subresource, fields)


def parent(managed: ManagedFields, scale: ManagedFields) -> ManagedFields:
    return to_parent(managed, scale, api_version="apps/v1", replicas_at=REPLICAS_AT)


def test_only_owners_of_the_replicas_are_seen_from_the_scale() -> None:
    managed = (
        entry("a", "replicas", "paused", operation="Apply"),
        entry("b", "paused"),
        entry("c", "replicas", version="apps/v0"),
        entry("d", "replicas", version="gone/v1"),
    )
    assert [(entry.manager, entry.api_version, entry.fields.tree) for entry in to_scale(managed, REPLICAS_AT)] == [
        ("a", SCALE_VERSION, {"f:spec": {"f:replicas": {}}})
    ]


def test_a_write_to_the_scale_takes_the_replicas_without_a_time() -> None:
    managed = (entry("a", "replicas", "paused"), entry("only", "replicas", operation="Apply"))
    written = entry("hpa", "replicas", version=SCALE_VERSION, subresource="scale")
    assert encode(parent(managed, (written,))) == [
        {
            "manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        },
        {
            "manager": "a", "operation": "Update", "apiVersion": "apps/v1", "time": NOW,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:paused": {}}},
        },
    ]  # fmt: skip


def test_appliers_that_kept_the_replicas_stay_as_they_were() -> None:
    managed = (entry("a", "replicas", "paused", operation="Apply"), entry("b", "paused"))
    assert parent(managed, to_scale(managed, REPLICAS_AT)) == managed


def test_entries_of_unknown_versions_are_dropped_and_those_without_a_scale_stay() -> None:
    kept = entry("c", "replicas", version="apps/v0")
    assert parent((kept, entry("d", "replicas", version="gone/v1")), ()) == (kept,)
