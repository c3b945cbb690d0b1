"""OpenAPI documents of both versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from definitions import definition
from kontend import Cluster
from kontend.cluster.request import ApiRequest
from kontend.serve.openapi.documents import PROTOBUF_V2, Document, respond
from kontend.serve.openapi.protobuf import encode_document

GARDEN = definition(
    "Garden",
    schema={
        "openAPIV3Schema": {
            "type": "object",
            "description": "A garden.",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "port": {"x-kubernetes-int-or-string": True},
                        "any": {"x-kubernetes-preserve-unknown-fields": True},
                        "size": {"type": "integer", "nullable": True, "minimum": 1},
                    },
                }
            },
        }
    },
)
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster()
    made.create(GARDEN)
    return made


def ask(cluster: Cluster, path: str, accept: str = "application/json") -> Document:
    document = respond(cluster.state.registry, ApiRequest("GET", path, accept=accept))
    assert document is not None
    return document


def read(cluster: Cluster, path: str) -> Any:
    return orjson.loads(ask(cluster, path).body)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def test_the_index_has_a_document_for_each_group_and_version(cluster: Cluster) -> None:
    paths = read(cluster, "/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.com/v1"} <= set(paths)
    for name, entry in paths.items():
        url, _, digest = entry["serverRelativeURL"].partition("?hash=")
        assert url == f"/openapi/v3/{name}"
        assert ask(cluster, url).etag == digest


def test_every_reference_leads_somewhere(cluster: Cluster) -> None:
    for name in read(cluster, "/openapi/v3")["paths"]:
        document = read(cluster, f"/openapi/v3/{name}")
        known = {f"#/components/schemas/{schema}" for schema in document["components"]["schemas"]}
        assert set(references(document)) <= known
    old = read(cluster, "/openapi/v2")
    assert set(references(old)) <= {f"#/definitions/{definition}" for definition in old["definitions"]}


def test_every_resource_has_its_paths(cluster: Cluster) -> None:
    paths = read(cluster, "/openapi/v2")["paths"]
    for resource in cluster.state.registry.resources():
        if "get" not in resource.verbs:
            continue
        root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        where = (
            f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
        )
        operation = paths[f"{where}/{{name}}"]["get"]
        assert operation["x-kubernetes-group-version-kind"] == {
            "group": resource.group, "version": resource.version, "kind": resource.kind,
        }  # fmt: skip


def test_a_built_in_type_tells_how_it_is_merged(cluster: Cluster) -> None:
    schemas = read(cluster, "/openapi/v3/apis/apps/v1")["components"]["schemas"]
    assert schemas["io.k8s.api.apps.v1.DeploymentSpec"]["required"] == ["selector", "template"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers == {
        "type": "array",
        "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}]},
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }
    assert schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "kind": "Deployment", "version": "v1"}
    ]
    assert schemas[META + "LabelSelector"]["x-kubernetes-map-type"] == "atomic"


def test_patches_take_the_parameters_that_kubectl_looks_for(cluster: Cluster) -> None:
    for document, path in (
        ("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
        ("apis/example.com/v1", "/apis/example.com/v1/namespaces/{namespace}/gardens/{name}"),
    ):
        for item in (read(cluster, f"/openapi/v3/{document}"), read(cluster, "/openapi/v2")):
            names = {parameter["name"] for parameter in item["paths"][path]["patch"]["parameters"]}
            assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names


def test_a_custom_type_has_what_its_definition_says_and_metadata(cluster: Cluster) -> None:
    garden = read(cluster, "/openapi/v3/apis/example.com/v1")["components"]["schemas"]["com.example.v1.Garden"]
    assert garden["description"] == "A garden."
    assert garden["properties"]["metadata"] == {"allOf": [{"$ref": f"#/components/schemas/{META}ObjectMeta"}]}
    spec = garden["properties"]["spec"]["properties"]
    assert spec["port"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert spec["any"]["type"] == "object"
    old = read(cluster, "/openapi/v2")["definitions"]["com.example.v1.Garden"]["properties"]["spec"]["properties"]
    assert old["size"] == {"minimum": 1}
    assert "type" not in old["any"]


def test_documents_change_with_definitions_and_are_kept_otherwise() -> None:
    cluster = Cluster()
    before = ask(cluster, "/openapi/v2")
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert ask(cluster, "/openapi/v2") is before
    apps = ask(cluster, "/openapi/v3/apis/apps/v1")
    cluster.create(GARDEN)
    assert ask(cluster, "/openapi/v2").etag != before.etag
    assert ask(cluster, "/openapi/v3/apis/apps/v1").etag == apps.etag
    first = ask(cluster, "/openapi/v3/apis/example.com/v1").etag
    schema = {"schema": {"openAPIV3Schema": {"type": "object"}}}
    cluster.patch(
        "CustomResourceDefinition.apiextensions.k8s.io/v1",
        "gardens.example.com",
        {"spec": {"versions": [{**GARDEN["spec"]["versions"][0], **schema}]}},
    )
    assert ask(cluster, "/openapi/v3/apis/example.com/v1").etag != first


@pytest.mark.parametrize(
    ("path", "accept", "code", "media_type"),
    [
        ("/openapi/v2", "*/*", 200, "application/json"),
        ("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200, PROTOBUF_V2),
        ("/openapi/v2", PROTOBUF_V2, 200, PROTOBUF_V2),
        ("/openapi/v2", "text/html", 406, ""),
        ("/openapi/v3", "text/html", 200, "application/json"),
        ("/openapi/v3/apis/apps/v1", "application/json, */*", 200, "application/json"),
        ("/openapi/v3/apis/apps/v1", PROTOBUF_V2, 406, ""),
        ("/openapi/v3/apis/apps/v9", "*/*", 404, ""),
    ],
)
def test_what_is_accepted_decides_the_form(
    cluster: Cluster, path: str, accept: str, code: int, media_type: str
) -> None:
    answer = ask(cluster, path, accept)
    assert answer.code == code
    if code == 200:
        assert answer.content_type == media_type


def test_other_paths_are_not_answered(cluster: Cluster) -> None:
    assert respond(cluster.state.registry, ApiRequest("GET", "/openapi")) is None
    assert respond(cluster.state.registry, ApiRequest("GET", "/api/v1")) is None


def test_the_protobuf_form_holds_names_types_and_extensions() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "T", "version": "1"},
        "definitions": {"A": {"type": "string", "x-y": [1]}},
    }
    schema = b"\xb2\x01\x08\x0a\x06string" + b"\xfa\x01\x0c\x0a\x03x-y\x12\x05\x12\x03[1]"
    named = b"\x0a\x01A\x12" + bytes([len(schema)]) + schema
    definitions = b"\x0a" + bytes([len(named)]) + named
    expected = b"\x0a\x032.0" + b"\x12\x06\x0a\x01T\x12\x011" + b"\x4a" + bytes([len(definitions)]) + definitions
    assert encode_document(document) == expected
