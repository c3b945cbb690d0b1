"""The table of built-in kinds and the schemas made from it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kontend.kube import kinds
from kontend.kube.kinds import TABLE, ResourceInfo, resources, schema_of, type_schema
from kontend.kube.schema.tree import MISSING, Schema


def served(plural: str, group: str = "") -> ResourceInfo:
    return next(resource for resource in resources() if (resource.group, resource.plural) == (group, plural))


def test_the_table_is_small() -> None:
    assert TABLE.stat().st_size < 150_000


def test_every_type_of_the_table_can_be_built() -> None:
    for name in orjson.loads(TABLE.read_bytes())["types"]:
        schema = type_schema(name)
        assert schema.go_type == name.rpartition(".")[2]
        assert schema is type_schema(name)


def test_every_resource_and_every_subresource_has_a_schema() -> None:
    for resource in resources():
        assert schema_of(resource.group, resource.version, resource.kind).properties
        for name, below in resource.subresources.items():
            if (resource.plural, name) != ("serviceaccounts", "token") or below.group:
                assert schema_of(below.group, below.version, below.kind).properties


def test_only_stable_versions_are_served() -> None:
    assert {resource.version for resource in resources()} == {"v1", "v2"}
    assert len({(resource.group, resource.version, resource.plural) for resource in resources()}) == len(resources())


def test_a_resource_is_described_as_in_discovery() -> None:
    deployments = served("deployments", "apps")
    assert deployments.singular == "deployment"
    assert deployments.list_kind == "DeploymentList"
    assert deployments.short_names == ("deploy",)
    assert deployments.categories == ("all",)
    assert deployments.storage_version_hash == "8aSe+NMegvE="
    assert deployments.verbs == ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    assert sorted(deployments.subresources) == ["scale", "status"]
    scale = deployments.subresources["scale"]
    assert (scale.group, scale.version, scale.kind, scale.verbs) == (
        "autoscaling", "v1", "Scale", ("get", "patch", "update"),
    )  # fmt: skip
    assert not served("namespaces").namespaced


def test_an_unknown_kind_is_a_key_error() -> None:
    for group, kind in (("apps", "Nope"), ("apps.example.com", "Deployment"), ("nope", "Pod")):
        with pytest.raises(KeyError):
            schema_of(group, "v1", kind)


@pytest.mark.parametrize(
    ("name", "field", "list_type", "keys"),
    [
        ("core/v1.PodSpec", "containers", "map", ("name",)),
        ("core/v1.Container", "ports", "map", ("containerPort", "protocol")),
        ("core/v1.Container", "args", "atomic", ()),
        ("core/v1.ServiceSpec", "ports", "map", ("port", "protocol")),
        ("core/v1.PodSpec", "topologySpreadConstraints", "map", ("topologyKey", "whenUnsatisfiable")),
        ("meta/v1.ObjectMeta", "finalizers", "set", ()),
        ("meta/v1.ObjectMeta", "ownerReferences", "map", ("uid",)),
        ("apps/v1.StatefulSetSpec", "volumeClaimTemplates", "atomic", ()),
    ],
)
def test_lists_are_merged_as_their_markers_say(name: str, field: str, list_type: str, keys: tuple[str, ...]) -> None:
    schema = type_schema(name).properties[field]
    assert (schema.list_type, schema.map_keys) == (list_type, keys)


def test_selectors_and_references_are_atomic() -> None:
    for name in ("meta/v1.LabelSelector", "core/v1.LocalObjectReference", "core/v1.ObjectFieldSelector"):
        assert type_schema(name).atomic, name
    assert type_schema("core/v1.PodSpec").properties["nodeSelector"].atomic
    assert not type_schema("meta/v1.ObjectMeta").properties["labels"].atomic


def test_keys_of_lists_have_the_defaults_of_the_openapi_document() -> None:
    port = type_schema("core/v1.ContainerPort").properties
    assert port["protocol"].default == "TCP"
    assert port["containerPort"].default == 0
    assert port["hostPort"].default is MISSING
    assert type_schema("core/v1.Container").properties["name"].default == ""


def test_patch_strategies_come_from_the_struct_tags() -> None:
    spec = type_schema("core/v1.PodSpec").properties
    assert (spec["containers"].patch_strategy, spec["containers"].patch_merge_key) == ("merge", "name")
    assert (spec["volumes"].patch_strategy, spec["volumes"].patch_merge_key) == ("merge,retainKeys", "name")
    assert type_schema("apps/v1.DeploymentSpec").properties["strategy"].patch_strategy == "retainKeys"


def test_types_without_a_shape_take_anything() -> None:
    data = type_schema("apps/v1.ControllerRevision").properties["data"]
    assert (data.type, data.preserve_unknown, data.atomic) == ("", True, True)
    for name in ("resource.Quantity", "intstr.IntOrString"):
        assert (type_schema(name).type, type_schema(name).int_or_string) == ("", True)


def test_a_type_that_contains_itself_is_a_cycle() -> None:
    props = type_schema("apiextensions/v1.JSONSchemaProps")
    below = props.properties["not"]
    assert below.properties is props.properties
    assert below.go_field.pointer
    assert not props.go_field.pointer


def test_fields_of_embedded_structs_know_where_they_come_from() -> None:
    volume = type_schema("core/v1.Volume").properties
    assert volume["name"].go_field.inlined == ()
    assert volume["configMap"].go_field.inlined == (("VolumeSource", 2),)
    assert volume["configMap"].go_field.number == 19
    assert type_schema("core/v1.Pod").properties["kind"].go_field.inlined == (("TypeMeta", 0),)


def test_names_are_those_that_go_prints() -> None:
    def name(schema: Schema) -> str:
        return schema.go_name

    assert name(type_schema("core/v1.PodSpec").properties["containers"]) == "[]v1.Container"
    assert name(type_schema("core/v1.ResourceRequirements").properties["limits"]) == "v1.ResourceList"
    assert name(type_schema("meta/v1.ObjectMeta").properties["labels"]) == "map[string]string"
    assert name(type_schema("meta/v1.ObjectMeta").properties["uid"]) == "types.UID"
    assert name(type_schema("core/v1.Secret").properties["data"]) == "map[string][]uint8"


def test_a_schema_whose_making_is_interrupted_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_BUILT", {})
    complete = kinds.schema_of("apps", "v1", "Deployment")
    monkeypatch.setattr(kinds, "_BUILT", {})
    fill = kinds._fill
    calls = 0

    def interrupted(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        fill(*given)

    monkeypatch.setattr(kinds, "_fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kinds.schema_of("apps", "v1", "Deployment")
    assert kinds._BUILT == {}
    again = kinds.schema_of("apps", "v1", "Deployment")
    assert again.properties.keys() == complete.properties.keys()
    assert again.properties["spec"].properties.keys() == complete.properties["spec"].properties.keys()
