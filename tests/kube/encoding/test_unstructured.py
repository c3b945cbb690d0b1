"""Maps into the Go types of built-in kinds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.encoding.decode import decode
from kontend.kube.encoding.decode_path import DecodeError
from kontend.kube.encoding.unstructured import from_unstructured
from kontend.kube.kinds import resources, schema_of


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("Pod", {"spec": {"hostname": 5}}, "cannot convert int64 to string"),
        ("Pod", {"spec": {"hostname": True}}, "unrecognized type: string"),
        ("Pod", {"spec": {"dnsPolicy": 5}}, "cannot convert int64 to v1.DNSPolicy"),
        ("Pod", {"spec": {"priority": "high"}}, "unrecognized type: int32"),
        ("Pod", {"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
        ("Pod", {"spec": {"hostNetwork": "yes"}}, "unrecognized type: bool"),
        ("Pod", {"spec": {"containers": {}}}, "cannot restore slice from map"),
        ("Pod", {"spec": {"nodeSelector": "x"}}, "cannot restore map from string"),
        ("Pod", {"spec": []}, "cannot restore struct from: slice"),
        ("Pod", {"metadata": {"creationTimestamp": 5}}, "json: cannot unmarshal number into Go value of type string"),
        ("Secret", {"data": {"a": "x"}}, "error decoding from json: illegal base64 data at input byte 0"),
        ("Secret", {"data": {"a": 1}}, "cannot restore slice from int64"),
        ("Pod", {"spec": {"hostNetwork": "yes", "hostname": 5, "containers": 1}}, "cannot restore slice from int64"),
    ],
)
def test_what_does_not_fit_is_refused_in_the_converters_words(kind: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        from_unstructured(value, schema_of("", "v1", kind))
    assert caught.value.message == message


def test_numbers_are_converted_as_go_converts_them() -> None:
    spec = from_unstructured({"spec": {"replicas": 3.0}}, schema_of("apps", "v1", "Deployment"))[0]["spec"]
    assert spec["replicas"] == 3
    assert isinstance(spec["replicas"], int)
    spec = from_unstructured({"spec": {"replicas": 2**32 + 1}}, schema_of("apps", "v1", "Deployment"))[0]["spec"]
    assert spec["replicas"] == 1


def test_unknown_fields_are_sorted() -> None:
    assert from_unstructured({"z": 1, "spec": {"b": 1}, "a": 1}, schema_of("", "v1", "Pod"))[1] == ["a", "spec.b", "z"]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(range(len(resources()))))
def test_what_fits_comes_out_as_from_json(random_object: Callable[..., Any], seed: int, which: int) -> None:
    info = resources()[which]
    schema = schema_of(info.group, info.version, info.kind)
    raw = random_object(Random(seed), schema) or {}
    assert from_unstructured(copy.deepcopy(raw), schema)[0] == decode(raw, schema)[0]
