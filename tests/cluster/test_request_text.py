"""Traits of a request's text that the decoded object has lost."""

from __future__ import annotations

from typing import Any

import pytest

from kontend import Cluster
from kontend.cluster.request import ApiRequest
from kontend.kube.encoding.raw_json import raw_texts, spliced, with_texts
from kontend.kube.errors import Invalid

REVISION = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"x"},"revision":1,"data":%s}'
PATH = "/apis/apps/v1/namespaces/default/controllerrevisions"


def test_raw_json_is_the_same_only_if_its_text_is() -> None:
    cluster = Cluster()
    assert cluster.request(ApiRequest("POST", PATH, body=REVISION % b'{"a": 1}')).code == 201

    same = cluster.request(ApiRequest("PUT", f"{PATH}/x", body=REVISION % b'{"a": 1}'))
    other = cluster.request(ApiRequest("PUT", f"{PATH}/x", body=REVISION % b'{"a":1}'))

    assert same.code == 200
    assert (other.code, other.body["message"]) == (
        422,
        'ControllerRevision.apps "x" is invalid: data: Invalid value: {"a":1}: field is immutable',
    )


def test_an_empty_map_is_not_the_same_as_none() -> None:
    cluster = Cluster()
    made = cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "immutable": True})

    with pytest.raises(Invalid, match="data: Forbidden: field is immutable when `immutable` is set"):
        cluster.update({**made, "data": {}})


def test_empty_hooks_after_none_are_a_change() -> None:
    cluster = Cluster()
    kind = "ValidatingWebhookConfiguration"
    made = cluster.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "w"}})
    changed = cluster.update({**made, "webhooks": []})

    assert changed["metadata"]["generation"] == 2
    assert "webhooks" not in changed


def test_texts_are_written_where_they_were_found() -> None:
    text = '{"a": [ {"b" : { "c":1 } }, {"b": 5} ], "d": "}"}'
    obj: dict[str, Any] = {"a": [{"b": {"c": 1}}, {"b": 5}], "d": "}"}
    paths = [("a", "*", "b")]
    with_texts(obj, raw_texts(text, paths))
    marked, marks = spliced(obj, paths)

    assert list(marks.values()) == [b'{ "c":1 }']
    assert obj["a"][0]["b"] == obj["a"][0]["b"]
    assert marked["a"][0]["b"] != obj["a"][0]["b"]
