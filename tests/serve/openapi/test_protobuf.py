"""Protobuf requests read as the JSON requests they stand for."""

from __future__ import annotations

import copy
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kontend import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.encoding.decode import decode
from kontend.kube.errors import ApiError, BadRequest
from kontend.kube.kinds import resources, schema_of, type_schema
from kontend.kube.meta.names import split_api_version
from kontend.kube.schema.tree import Schema
from kontend.serve.protobuf.requests import PROTOBUF, as_json, decode_request
from kube.conftest import random_object  # noqa: F401
from serve.protobuf_encoder import delimited, number, request, struct_bytes

PAIRS = Path(__file__).parents[1] / "data" / "protobuf_pairs.tar.xz"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NAME_X = delimited(1, delimited(1, b"x"))


def pairs() -> list[Any]:
    """Kubernetes' own test objects, every field set: their name, JSON and protobuf."""
    with tarfile.open(PAIRS) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    return [
        pytest.param(json.loads(text), files[name.removesuffix("json") + "pb"], id=name.removesuffix(".json"))
        for name, text in files.items()
        if name.endswith(".json")
    ]


def schema_for(api_version: str, kind: str) -> Schema:
    group, version = split_api_version(api_version)
    try:
        return schema_of(group, version, kind)
    except KeyError:
        return type_schema(f"meta/v1.{kind}")


def send(method: str, path: str, body: bytes, cluster: Cluster | None = None) -> ApiResponse:
    """The server's answer to a protobuf body."""
    state = (cluster or Cluster()).state
    sent = ApiRequest(method, path, body=body, content_type=PROTOBUF)
    try:
        return handle(state, as_json(state.registry, sent))[1]
    except ApiError as error:
        return ApiResponse.of_error(error)


def refusal(body: bytes, *, method: str = "POST", path: str = DEPLOYMENTS) -> str:
    answer = send(method, path, body)
    assert answer.code == 400
    assert answer.body["reason"] == "BadRequest"
    return str(answer.body["message"])


def deployment(message: bytes) -> bytes:
    return request("apps/v1", "Deployment", message)


@pytest.mark.parametrize(("wanted", "body"), pairs())
def test_the_published_objects_read_the_same_from_both_encodings(wanted: dict[str, Any], body: bytes) -> None:
    decoded = decode_request(body)
    assert (decoded["apiVersion"], decoded["kind"]) == (wanted["apiVersion"], wanted["kind"])
    schema = schema_for(wanted["apiVersion"], wanted["kind"])
    assert decode(decoded, schema) == decode(wanted, schema)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(seed=st.integers(0, 2**32), which=st.integers(0, 10**6))
def test_any_object_survives_the_way_through_protobuf(
    random_object: Callable[..., Any],  # noqa: F811
    seed: int,
    which: int,
) -> None:
    info = resources()[which % len(resources())]
    schema = schema_of(info.group, info.version, info.kind)
    made = random_object(Random(seed), schema) or {}
    # What the JSON decoder makes of it is what a client would encode.
    obj = decode(made, schema)[0]
    body = request(f"{info.group}/{info.version}".strip("/"), info.kind, struct_bytes(obj, schema.properties))
    decoded = decode_request(body)
    del decoded["apiVersion"], decoded["kind"]
    without_type = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
    assert normal(decode(decoded, schema)[0]) == normal(without_type)


def normal(value: Any) -> Any:
    """Without what protobuf cannot carry: the difference between nothing, null and empty."""
    if isinstance(value, dict):
        items = {name: normal(item) for name, item in value.items()}
        return {name: item for name, item in items.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.binary(max_size=80), st.integers(0, 400), st.sampled_from(["POST", "PUT", "DELETE"]))
@example(b"\x0a" * 80, 0, "POST")
def test_garbage_is_refused_like_any_bad_request(garbage: bytes, cut: int, method: str) -> None:
    whole = deployment(NAME_X + delimited(2, b"\x08\x01"))
    path = DEPLOYMENTS if method == "POST" else f"{DEPLOYMENTS}/x"
    for body in (b"k8s\0" + garbage, deployment(garbage), whole[:cut] + garbage + whole[cut + 1 :]):
        answer = send(method, path, body)
        assert answer.code in (400, 404, 409, 422)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty data (<empty>)"),
        (
            b"hello",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (68656c6c6f)",
        ),
        (b"k8s\0", "empty body (6b387300)"),
        (b"k8s\0\x0a\x55", "unexpected EOF (6b3873000a55)"),
        (b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta (6b3873000801)"),
    ],
)
def test_a_broken_envelope_is_not_recognised(body: bytes, why: str) -> None:
    assert refusal(body) == f"the object provided is unrecognized (must be of type Deployment): {why}"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\x03", "proto: Deployment: illegal tag 0 (wire type 3)"),
        (b"\x0c", "proto: Deployment: wiretype end group for non-group"),
        (b"\x0a\x05", "unexpected EOF"),
        (b"\xff" * 11, "proto: integer overflow"),
        (NAME_X + delimited(2, b"\x0a\x00"), "proto: wrong wireType = 2 for field Replicas"),
        (NAME_X + b"\x9e\x06", "proto: illegal wireType 6"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
    ],
)
def test_a_broken_message_cannot_be_handled(message: bytes, why: str) -> None:
    expected = f'Deployment in version "v1" cannot be handled as a Deployment: {why}'
    assert refusal(deployment(message)) == expected


def test_a_quantity_that_is_none_is_refused_in_the_words_of_json() -> None:
    container = delimited(8, delimited(1, delimited(1, b"cpu") + delimited(2, delimited(1, b"x1"))))
    body = request("v1", "Pod", NAME_X + delimited(2, delimited(2, container)))
    assert refusal(body, path="/api/v1/namespaces/default/pods") == (
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


@pytest.mark.parametrize(
    "envelope", [b"", delimited(1, b"apps/v1"), delimited(2, b"Deployment"), delimited(1, b"a/b/c")]
)
def test_what_the_envelope_does_not_say_follows_from_the_path(envelope: bytes) -> None:
    answer = send("POST", DEPLOYMENTS, b"k8s\0" + delimited(1, envelope) + delimited(2, NAME_X))
    assert answer.code == 422
    assert answer.body["message"].startswith('Deployment.apps "x" is invalid: ')


def test_another_kind_than_the_path_wants_is_refused_as_in_json() -> None:
    assert refusal(request("v1", "Pod", NAME_X)) == (
        'Pod in version "v1" cannot be handled as a Deployment: converting (v1.Pod) to (apps.Deployment): '
        "unknown conversion"
    )
    assert refusal(request("apps/v1", "Foo", NAME_X)) == (
        'Foo in version "v1" cannot be handled as a Deployment: no kind "Foo" is registered for version "apps/v1" in '
        'scheme "pkg/runtime/scheme.go:111"'
    )


def test_unknown_fields_and_groups_are_skipped() -> None:
    config_map = request("v1", "ConfigMap", NAME_X + number(99, 1) + b"\x9b\x06" + number(1, 1) + b"\x9c\x06")
    assert decode_request(config_map) == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


def test_a_message_in_pieces_is_put_together_and_the_last_scalar_wins() -> None:
    first = delimited(1, delimited(1, b"x") + delimited(3, b"n1"))
    second = delimited(1, delimited(3, b"n2"))
    assert decode_request(request("v1", "ConfigMap", first + second))["metadata"] == {"name": "x", "namespace": "n2"}


def test_lists_of_numbers_may_be_packed() -> None:
    packed, single = delimited(4, b"\x01\x02"), number(4, 3)
    context = delimited(14, packed + single)
    pod = decode_request(request("v1", "Pod", delimited(2, context)))
    assert pod["spec"]["securityContext"]["supplementalGroups"] == [1, 2, 3]


def test_numbers_are_narrowed_as_in_go() -> None:
    spec = delimited(2, b"\x08" + b"\xff" * 8 + b"\x7f")
    assert decode_request(deployment(spec))["spec"]["replicas"] == -1


def test_text_that_is_no_text_is_replaced() -> None:
    obj = decode_request(request("v1", "ConfigMap", delimited(1, delimited(1, b"a\xff"))))
    assert obj["metadata"]["name"] == "a�"


def test_delete_options_are_of_every_group() -> None:
    cluster = Cluster()
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "finalizers": ["a/b"]}})
    options = request("apps/v1", "DeleteOptions", delimited(2, delimited(1, b"other-uid")))
    path = "/api/v1/namespaces/default/configmaps/x"
    assert send("DELETE", path, options, cluster).code == 409
    assert send("DELETE", path, request("v1", "DeleteOptions", b""), cluster).code == 200
    assert send("DELETE", path, b"", cluster).code == 200
    assert refusal(request("v1", "DeleteOptions", b"\x12\x05"), method="DELETE", path=path) == "unexpected EOF"
    assert refusal(b"k8s\0", method="DELETE", path=path) == "empty body"


def test_subresources_speak_their_own_kind() -> None:
    scale = request("autoscaling/v1", "Scale", NAME_X + delimited(2, number(1, 3)))
    assert decode_request(scale)["spec"] == {"replicas": 3}
    path = "/api/v1/namespaces/default/pods/x/eviction"
    assert refusal(b"k8s\0", path=path) == (
        "the object provided is unrecognized (must be of type Eviction): empty body (6b387300)"
    )


def test_patches_and_json_are_left_alone() -> None:
    registry = Cluster().state.registry
    for sent in (
        ApiRequest("PATCH", f"{DEPLOYMENTS}/x", body=b"k8s\0", content_type=PROTOBUF),
        ApiRequest("POST", DEPLOYMENTS, body=b"{}"),
        ApiRequest("POST", "/nowhere", body=b"k8s\0", content_type=PROTOBUF),
    ):
        assert as_json(registry, sent) is sent


def test_nesting_without_end_is_refused() -> None:
    props = b""
    for _ in range(2000):
        props = delimited(28, props)
    version = delimited(7, delimited(4, delimited(1, props)))
    body = request("apiextensions.k8s.io/v1", "CustomResourceDefinition", delimited(2, version))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    sent = ApiRequest("POST", path, body=body, content_type=PROTOBUF)
    with pytest.raises(BadRequest):
        as_json(Cluster().state.registry, sent)


def test_a_protobuf_create_stores_what_the_json_create_would() -> None:
    obj = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"a": "b"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "500m"}},
                                     "ports": [{"containerPort": 80}]}]}}},
    }  # fmt: skip
    message = struct_bytes(copy.deepcopy(obj), schema_of("apps", "v1", "Deployment").properties)
    answer = send("POST", DEPLOYMENTS, deployment(message))
    state = Cluster().state
    same = handle(state, ApiRequest("POST", DEPLOYMENTS, body=orjson.dumps(obj)))[1]
    assert answer.code == 201
    assert answer.body == same.body
