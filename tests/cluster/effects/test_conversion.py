"""Conversion of custom resources by webhooks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.cluster.effects import Answer
from kontend.cluster.effects.conversion import Converted
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.kube.errors import ApiError

Json = dict[str, Any]
URL = "https://hooks.default.svc/convert"
OLD, NEW = "Widget.example.com/v1", "Widget.example.com/v2"


def widgets() -> Json:
    """Version 1 has ``spec.size``, version 2, which is stored, ``spec.width`` and ``spec.height``."""
    crd = definition("Widget")
    [version] = crd["spec"]["versions"]
    crd["spec"]["versions"] = [{**version, "storage": False}, {**version, "name": "v2"}]
    service = {"namespace": "default", "name": "hooks", "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def convert(review: Json) -> Json:
    request = review["request"]
    converted = []
    for obj in request["objects"]:
        spec = obj.get("spec") or {}
        if request["desiredAPIVersion"] == "example.com/v2":
            width, _, height = spec.get("size", "").partition("x")
            spec = {"width": width, "height": height}
        else:
            spec = {"size": f"{spec['width']}x{spec['height']}"}
        converted.append({**obj, "apiVersion": request["desiredAPIVersion"], "spec": spec})
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}


def widget(version: str, name: str = "w", **spec: str) -> Json:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_an_object_is_served_at_every_version() -> None:
    cluster = Cluster(crds=[widgets()], webhooks={URL: convert})
    made = cluster.create(widget("v1", size="2x3"))
    assert (made["apiVersion"], made["spec"]) == ("example.com/v1", {"size": "2x3"})
    stored = cluster.get(NEW, "w")
    assert stored["spec"] == {"width": "2", "height": "3"}
    assert stored["metadata"]["uid"] == made["metadata"]["uid"]
    assert cluster.patch(OLD, "w", {"spec": {"size": "4x5"}})["spec"] == {"size": "4x5"}
    assert cluster.get(NEW, "w")["spec"] == {"width": "4", "height": "5"}
    assert [obj["spec"] for obj in cluster.list(OLD)] == [{"size": "4x5"}]
    assert [event["object"]["spec"] for event in cluster.watch(OLD)] == [{"size": "4x5"}]
    same = cluster.patch(OLD, "w", {"spec": {"size": "4x5"}})
    assert same["metadata"]["resourceVersion"] == cluster.get(OLD, "w")["metadata"]["resourceVersion"]


def test_the_stored_version_needs_no_webhook() -> None:
    cluster = Cluster(crds=[widgets()])
    cluster.create(widget("v2", width="1", height="1"))
    assert cluster.get(NEW, "w")["spec"]["width"] == "1"
    with pytest.raises(ApiError, match=r"conversion webhook for example\.com/v2, Kind=Widget failed: Post") as failed:
        cluster.get(OLD, "w")
    assert failed.value.http_code == 500


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"result": {"status": "Failed", "message": "no"}}, "failed: no"),
        ({"result": {}}, "response.result.status was '', not 'Success'"),
        ({"result": {"status": "Success"}, "convertedObjects": []}, "returned 0 objects, expected 1"),
        ({"uid": "x", "result": {"status": "Success"}}, 'got "x"'),
        (
            {"result": {"status": "Success"}, "convertedObjects": [{"apiVersion": "example.com/v3", "kind": "Widget"}]},
            "expected example.com/v1, Kind=Widget, found example.com/v3, Kind=Widget",
        ),
    ],
)
def test_answers_that_are_no_answers_fail(response: Json, message: str) -> None:
    def answer(review: Json) -> Json:
        return {"response": {"uid": review["request"]["uid"], **response}}

    cluster = Cluster(crds=[widgets()], webhooks={URL: answer})
    cluster.create(widget("v2", width="1", height="1"))
    with pytest.raises(ApiError) as failed:
        cluster.get(OLD, "w")
    assert message in failed.value.message


def test_a_list_is_converted_with_one_call() -> None:
    cluster = Cluster(crds=[widgets()])
    for index in range(150):
        cluster.create(widget("v2", f"w{index}", width="1", height=str(index)))
    listing = ApiRequest("GET", "/apis/example.com/v1/widgets")
    known: dict[bytes, Converted] = {}
    state, first = handle(cluster.state, listing, wait=True, known=known)
    assert first.suspended is not None
    [call] = first.suspended.calls
    review = json.loads(call.body)
    assert len(review["request"]["objects"]) == 150
    answers = {call.key: Answer(convert(review))}
    first.suspended.about.learn(answers)
    _, done = handle(state, listing, first.suspended.progress.answered(answers), wait=True, known=known)
    assert len({item["spec"]["size"] for item in done.body["items"]}) == 150
