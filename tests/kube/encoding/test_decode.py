"""JSON through the Go types of built-in kinds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.encoding.decode import decode
from kontend.kube.encoding.decode_path import DecodeError
from kontend.kube.kinds import resources, schema_of, type_schema

CONTAINER = {"name": "main", "image": "app:1"}


def decoded(group: str, kind: str, **fields: Any) -> dict[str, Any]:
    return decode(fields, schema_of(group, "v1", kind))[0]


def refusal(group: str, kind: str, **fields: Any) -> str:
    with pytest.raises(DecodeError) as caught:
        decoded(group, kind, **fields)
    return caught.value.message


def in_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{**CONTAINER, **fields}]}}


def test_required_parts_appear_and_empty_ones_vanish() -> None:
    deployment = decoded(
        "apps", "Deployment", metadata={"name": "d", "labels": {}, "creationTimestamp": None},
        spec={"paused": False, "minReadySeconds": 0, "template": {"spec": {"containers": [CONTAINER], "hostname": ""}}},
    )  # fmt: skip
    assert deployment == {
        "metadata": {"name": "d"},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": [{**CONTAINER, "resources": {}}]}},
        },
        "status": {},
    }


def test_pointers_keep_their_zero_values() -> None:
    spec = decoded("apps", "Deployment", spec={"replicas": 0, "revisionHistoryLimit": None})["spec"]
    assert spec["replicas"] == 0
    assert "revisionHistoryLimit" not in spec


def test_zero_status_has_its_required_counters() -> None:
    assert decoded("apps", "StatefulSet")["status"] == {"replicas": 0, "availableReplicas": 0}
    assert decoded("", "Service")["status"] == {"loadBalancer": {}}


def test_a_required_list_without_items_differs_from_none() -> None:
    assert decoded("rbac.authorization.k8s.io", "Role", rules=[])["rules"] == []
    assert decoded("rbac.authorization.k8s.io", "Role")["rules"] is None


def test_definitions_keep_an_empty_list() -> None:
    spec = decoded("apiextensions.k8s.io", "CustomResourceDefinition", spec={"versions": []})["spec"]
    assert spec["versions"] == []


def test_null_is_the_zero_value() -> None:
    assert decoded("", "ConfigMap", data={"a": None})["data"] == {"a": ""}
    assert decoded("", "Pod", spec={"containers": [None]})["spec"]["containers"] == [{"name": "", "resources": {}}]
    assert "metadata" in decoded("", "Pod", metadata=None)


def test_times_are_written_in_utc() -> None:
    metadata = decoded("", "Pod", metadata={"creationTimestamp": "2026-05-01T02:00:00.5+02:00"})["metadata"]
    assert metadata["creationTimestamp"] == "2026-05-01T00:00:00Z"
    lease = decoded("coordination.k8s.io", "Lease", spec={"renewTime": "2026-05-01T02:00:00.123456+02:00"})
    assert lease["spec"]["renewTime"] == "2026-05-01T00:00:00.123456Z"
    condition = decoded("", "Pod", status={"conditions": [{"type": "Ready"}]})["status"]["conditions"][0]
    assert condition == {"type": "Ready", "status": "", "lastProbeTime": None, "lastTransitionTime": None}


def test_quantities_numbers_and_bytes_take_their_canonical_form() -> None:
    pod = decoded("", "Pod", **in_container(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}}))
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}}
    assert decoded("", "Secret", data={"a": "YR=="})["data"] == {"a": "YQ=="}
    schema = decoded(
        "apiextensions.k8s.io", "CustomResourceDefinition",
        spec={"versions": [{"schema": {"openAPIV3Schema": {"maximum": 5.0, "items": [], "not": {"default": 1.5}}}}]},
    )["spec"]["versions"][0]["schema"]["openAPIV3Schema"]  # fmt: skip
    assert schema == {"maximum": 5, "items": None, "not": {"default": 1.5}}


def test_unknown_fields_are_dropped_and_told_in_order() -> None:
    pod = {
        "Spec": {},
        "spec": {"containers": [{"x": 1, "y": 2}, {"env": [{"q": 1}], "Name": "a"}]},
        "metadata": {"ownerReferences": [{"z": 1}], "labels": {"any.key": "1"}},
    }
    value, unknown = decode(copy.deepcopy(pod), schema_of("", "v1", "Pod"))
    assert unknown == [
        "Spec",
        "spec.containers[0].x",
        "spec.containers[0].y",
        "spec.containers[1].env[0].q",
        "spec.containers[1].Name",
        "metadata.ownerReferences[0].z",
    ]
    assert decode(value, schema_of("", "v1", "Pod"))[1] == []


def test_unknown_fields_are_told_once_and_not_without_end() -> None:
    _, unknown = decode({f"x{n}": 1 for n in range(200)}, schema_of("", "v1", "Pod"))
    assert len(unknown) == 100


def test_inside_a_schema_or_a_boolean_nothing_is_strict() -> None:
    spec = {"versions": [{"schema": {"openAPIV3Schema": {"items": {"nope": 1}, "nope": 1}}}]}
    unknown = decode({"spec": spec}, schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))[1]
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.nope"]


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("group", "kind", "fields", "message"),
    [
        ("apps", "Deployment", {"spec": {"replicas": "three"}},
         FIELD.format("string", "DeploymentSpec.spec.replicas", "int32")),
        ("apps", "Deployment", {"spec": {"replicas": 1.5}},
         FIELD.format("number 1.5", "DeploymentSpec.spec.replicas", "int32")),
        ("apps", "Deployment", {"spec": {"replicas": 2147483648}},
         FIELD.format("number 2147483648", "DeploymentSpec.spec.replicas", "int32")),
        ("apps", "Deployment", {"spec": []}, FIELD.format("array", "Deployment.spec", "v1.DeploymentSpec")),
        ("", "ConfigMap", {"data": {"a": 1}}, FIELD.format("number", "ConfigMap.data", "string")),
        ("", "ConfigMap", {"data": "x"}, FIELD.format("string", "ConfigMap.data", "map[string]string")),
        ("", "ConfigMap", {"metadata": {"creationTimestamp": 5}},
         FIELD.format("number", "ObjectMeta.metadata.creationTimestamp", "string")),
        ("", "Secret", {"data": {"a": 1}}, FIELD.format("number", "Secret.data", "[]uint8")),
        ("", "Secret", {"data": {"a": "abc"}}, "illegal base64 data at input byte 0"),
        ("", "Secret", {"data": {"a": "ab=c"}}, "illegal base64 data at input byte 2"),
        ("", "Pod", {"spec": {"containers": {}}}, FIELD.format("object", "PodSpec.spec.containers", "[]v1.Container")),
        ("", "Pod", in_container(imagePullPolicy=True),
         FIELD.format("bool", "Container.spec.containers.imagePullPolicy", "v1.PullPolicy")),
        ("", "Pod", {"spec": {"volumes": [{"configMap": {"name": 1}}]}},
         FIELD.format("number", "ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name",
                      "string")),
        ("", "Pod", in_container(resources={"limits": {"cpu": "x"}}),
         "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("", "Service", {"spec": {"ports": [{"targetPort": 1.5}]}},
         FIELD.format("number 1.5", "ServicePort.spec.ports.targetPort", "int32")),
        ("", "Pod", {"metadata": {"creationTimestamp": "yesterday"}},
         'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
        ("", "Pod", {"metadata": {"creationTimestamp": "2026-02-30T00:00:00Z"}},
         'parsing time "2026-02-30T00:00:00Z": day out of range'),
        ("coordination.k8s.io", "Lease", {"spec": {"renewTime": "2026-01-01T00:00:00Z"}},
         'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_gos_words(group: str, kind: str, fields: dict[str, Any], message: str) -> None:
    assert refusal(group, kind, **fields) == message


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"^json: cannot unmarshal array into Go value of type v1\.Pod$"):
        decode([], schema_of("", "v1", "Pod"))


def test_the_first_mismatch_is_told() -> None:
    message = refusal("", "Pod", spec={"hostname": 5, "nodeName": 6})
    assert "hostname" in message


def test_a_type_with_its_own_form_wins_over_an_earlier_mismatch() -> None:
    message = refusal("", "Pod", spec={"hostname": 5, **in_container(resources={"limits": {"cpu": "x"}})["spec"]})
    assert message.startswith("quantities must match")


@settings(derandomize=True, deadline=None, max_examples=400)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(range(len(resources()))))
def test_decoding_twice_is_decoding_once(random_object: Callable[..., Any], seed: int, which: int) -> None:
    info = resources()[which]
    schema = schema_of(info.group, info.version, info.kind)
    once, _ = decode(random_object(Random(seed), schema) or {}, schema)
    twice, unknown = decode(copy.deepcopy(once), schema)
    assert twice == once
    assert unknown == []


@settings(derandomize=True, deadline=None, max_examples=400)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(range(len(resources()))))
def test_garbage_is_refused_and_never_breaks_anything(random_object: Callable[..., Any], seed: int, which: int) -> None:
    info = resources()[which]
    schema = schema_of(info.group, info.version, info.kind)
    with suppress(DecodeError):
        decode(random_object(Random(seed), schema, odd=0.05), schema)


def test_any_type_can_be_decoded_by_itself() -> None:
    assert decode({"name": "x", "labels": {}}, type_schema("meta/v1.ObjectMeta")) == ({"name": "x"}, [])
