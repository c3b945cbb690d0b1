"""Patches: media types, objects that stop being of their kind, and the text that errors show."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from cluster.objects import config_map, definition, deployment, widget
from kontend import Cluster
from kontend.cluster.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiRequest
from kontend.cluster.wire.response import ApiResponse

CONFIG_MAP = "/api/v1/namespaces/default/configmaps/c"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/d"
WIDGET = "/apis/example.com/v1/namespaces/default/widgets/w"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[config_map(data={"a": "1"}), widget(spec={"a": 1}), deployment()])


def _patch(cluster: Cluster, path: str, content_type: str, patch: Any, **query: str) -> ApiResponse:
    body = patch if isinstance(patch, bytes) else orjson.dumps(patch)
    values = {name: (value,) for name, value in query.items()}
    return cluster.request(ApiRequest("PATCH", path, values, body, content_type=content_type))


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        (MERGE_PATCH, {"data": {"a": None, "b": "2"}}),
        (STRATEGIC_MERGE_PATCH, {"data": {"a": None, "b": "2"}}),
        (JSON_PATCH, [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}]),
    ],
)
def test_each_kind_of_patch_changes_the_object(cluster: Cluster, content_type: str, patch: Any) -> None:
    response = _patch(cluster, CONFIG_MAP, content_type, patch)
    assert (response.code, response.body["data"]) == (200, {"b": "2"})


def test_custom_resources_take_no_strategic_merge_patch(cluster: Cluster) -> None:
    response = _patch(cluster, WIDGET, STRATEGIC_MERGE_PATCH, {})
    assert response.code == 415
    assert STRATEGIC_MERGE_PATCH not in response.body["message"].partition("include")[2]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
def test_other_media_types_are_not_patches(cluster: Cluster, content_type: str) -> None:
    assert _patch(cluster, CONFIG_MAP, content_type, {}).code == 415


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"kind": "PodList"}, "converting (v1.PodList) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Status"}, "converting (v1.Status) to (core.ConfigMap): unknown conversion"),
        ({"kind": "DeleteOptions"}, "converting (v1.DeleteOptions) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Scale"}, 'no kind "Scale" is registered for version "v1"'),
        ({"apiVersion": "x/v1"}, 'no kind "ConfigMap" is registered for version "x/v1"'),
        ({"apiVersion": "example.com/v1", "kind": "Widget"}, 'no kind "Widget" is registered for version'),
    ],
)
def test_a_merge_patch_cannot_make_an_object_another_kind(cluster: Cluster, patch: Any, why: str) -> None:
    """The message shows the whole object after the patch."""
    response = _patch(cluster, CONFIG_MAP, MERGE_PATCH, patch)
    assert response.code == 422
    assert why in response.body["message"]
    assert "uid" in response.body["message"]


def test_a_strategic_patch_of_the_kind_changes_nothing(cluster: Cluster) -> None:
    before = cluster.get("ConfigMap/v1", "c", namespace="default")
    response = _patch(cluster, CONFIG_MAP, STRATEGIC_MERGE_PATCH, {"kind": "Secret", "apiVersion": "x/v1"})
    assert (response.code, response.body) == (200, before)


def test_a_custom_resource_cannot_lose_its_kind(cluster: Cluster) -> None:
    response = _patch(cluster, WIDGET, MERGE_PATCH, {"kind": None})
    assert response.code >= 400
    assert "Object 'Kind' is missing" in response.body["message"]


@pytest.mark.parametrize(("validation", "code"), [("Strict", 422), ("Warn", 200), ("Ignore", 200)])
def test_unknown_fields_are_refused_warned_about_or_dropped(cluster: Cluster, validation: str, code: int) -> None:
    response = _patch(cluster, DEPLOYMENT, MERGE_PATCH, {"spec": {"nope": 1}}, fieldValidation=validation)
    assert response.code == code
    assert bool(response.warnings) == (validation == "Warn")
    assert "nope" not in cluster.get("Deployment.apps/v1", "d")["spec"]


def test_an_unknown_validation_directive_is_refused_by_name(cluster: Cluster) -> None:
    response = _patch(cluster, CONFIG_MAP, MERGE_PATCH, {}, fieldValidation="Maybe")
    assert response.code == 422
    assert 'fieldValidation: Unsupported value: "Maybe"' in response.body["message"]


def test_a_patch_that_changes_nothing_writes_nothing(cluster: Cluster) -> None:
    before = cluster.resource_version
    response = _patch(cluster, CONFIG_MAP, MERGE_PATCH, {"data": {"a": "1"}})
    assert (response.code, cluster.resource_version) == (200, before)


def test_a_patch_can_carry_a_version_as_a_lock(cluster: Cluster) -> None:
    version = cluster.get("ConfigMap/v1", "c")["metadata"]["resourceVersion"]
    lock = {"metadata": {"resourceVersion": version}}
    assert _patch(cluster, CONFIG_MAP, MERGE_PATCH, {**lock, "data": {"a": "2"}}).code == 200
    assert _patch(cluster, CONFIG_MAP, MERGE_PATCH, {**lock, "data": {"a": "3"}}).code == 409
    assert cluster.get("ConfigMap/v1", "c")["data"] == {"a": "2"}


def test_only_an_apply_creates(cluster: Cluster) -> None:
    path = CONFIG_MAP.removesuffix("/c") + "/new"
    assert _patch(cluster, path, MERGE_PATCH, {"data": {"a": "1"}}).code == 404
    applied = config_map("new", data={"a": "1"})
    assert _patch(cluster, path, APPLY_PATCH, applied, fieldManager="m").code == 201
    assert _patch(cluster, path, APPLY_PATCH, applied, fieldManager="m").code == 200
    assert _patch(cluster, path, APPLY_PATCH, applied).code == 422


def test_the_message_about_a_result_that_is_no_object_shows_its_owners(cluster: Cluster) -> None:
    """A merge patch is worked out without the managed fields first, but messages show them."""
    _patch(cluster, CONFIG_MAP, MERGE_PATCH, {"data": {"a": "2"}}, fieldManager="somebody")
    response = _patch(cluster, CONFIG_MAP, MERGE_PATCH, {"data": {"a": {}}})
    assert response.code == 422
    assert "managedFields" in response.body["message"]
    assert "somebody" in response.body["message"]


def test_a_merge_patch_can_reset_the_owners(cluster: Cluster) -> None:
    assert "managedFields" in _patch(cluster, CONFIG_MAP, MERGE_PATCH, {"data": {"a": "2"}}).body["metadata"]
    response = _patch(cluster, CONFIG_MAP, MERGE_PATCH, {"metadata": {"managedFields": []}})
    assert "managedFields" not in response.body["metadata"]


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "labels": {"z": "1", "a": "2"}},
    "spec": {"hard": {"pods": "1"}, "scopes": ["Terminating"]},
}


@pytest.mark.parametrize(
    ("content_type", "patch", "metadata", "spec"),
    [
        (MERGE_PATCH, {"spec": {"scopes": 5}}, "name namespace uid", '{"hard":{"pods":"1"},"scopes":5}'),
        (
            MERGE_PATCH,
            {"metadata": {"labels": {"b": 5}}},
            "creationTimestamp labels managedFields",
            '{"hard":{"pods":"1"},"scopes":["Terminating"]}',
        ),
        (
            JSON_PATCH,
            [{"op": "add", "path": "/spec/hard", "value": [{"z": 1, "a": 2}]}],
            "name namespace uid",
            '{"hard":[{"z":1,"a":2}],"scopes":["Terminating"]}',
        ),
        (
            JSON_PATCH,
            [
                {"op": "test", "path": "/metadata/name", "value": "q"},
                {"op": "move", "from": "/spec/scopes", "path": "/spec/hard"},
            ],
            "creationTimestamp labels managedFields",
            '{"hard":["Terminating"]}',
        ),
    ],
)
def test_a_message_shows_the_fields_that_a_patch_touches_in_order(
    cluster: Cluster, content_type: str, patch: Any, metadata: str, spec: str
) -> None:
    """Sorted where it has looked, elsewhere as the Go type has them; what it brings as it is."""
    cluster.create(QUOTA)
    answer = _patch(cluster, "/api/v1/namespaces/default/resourcequotas/q", content_type, patch)
    shown = orjson.loads(answer.body["message"].partition("Invalid value: ")[2].rpartition(": json: ")[0])
    assert list(orjson.loads(shown)["metadata"])[:3] == metadata.split()
    assert f'"spec":{spec},"status"' in shown
