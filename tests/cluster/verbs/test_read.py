"""Lists: pages, selectors, and the version at which a list is read."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from cluster.objects import WIDGET, config_map, definition, widget
from kontend import Cluster
from kontend.cluster import state as state_module
from kontend.cluster.request import ApiRequest
from kontend.cluster.wire.response import ApiResponse

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[config_map(f"c{index}") for index in range(5)])


def _list(cluster: Cluster, path: str = CONFIG_MAPS, **query: Any) -> ApiResponse:
    values = {name: (str(value),) for name, value in query.items()}
    return cluster.request(ApiRequest("GET", path, values))


def _names(response: ApiResponse) -> list[str]:
    assert response.code == 200, response.body
    return [item["metadata"]["name"] for item in response.body["items"]]


def _pages(cluster: Cluster, path: str = CONFIG_MAPS, **query: Any) -> list[tuple[list[str], int | None]]:
    """The names on each page, and the number of items that remain."""
    pages, token = [], ""
    while True:
        response = _list(cluster, path, **query, **({"continue": token} if token else {}))
        metadata = response.body["metadata"]
        pages.append((_names(response), metadata.get("remainingItemCount")))
        token = metadata.get("continue", "")
        if not token:
            return pages


def _token(**fields: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(fields)).decode().rstrip("=")


def test_a_limit_cuts_a_list_into_pages(cluster: Cluster) -> None:
    assert _pages(cluster, limit=2) == [(["c0", "c1"], 3), (["c2", "c3"], 1), (["c4"], None)]
    assert _pages(cluster, limit=5) == [(["c0", "c1", "c2", "c3", "c4"], None)]


def test_pages_of_all_namespaces_go_on_after_the_last_namespace(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    cluster.create(config_map("c0", metadata={"namespace": "other"}))
    assert _pages(cluster, "/api/v1/configmaps", limit=3) == [(["c0", "c1", "c2"], 3), (["c3", "c4", "c0"], None)]


def test_pages_of_a_cluster_scoped_kind(cluster: Cluster) -> None:
    names = [name for page, _ in _pages(cluster, "/api/v1/namespaces", limit=1) for name in page]
    assert names == _names(_list(cluster, "/api/v1/namespaces"))
    assert len(names) > 1


def test_pages_with_a_selector_do_not_count_what_remains(cluster: Cluster) -> None:
    for index in (1, 2, 4):
        cluster.patch("ConfigMap/v1", f"c{index}", {"metadata": {"labels": {"app": "web"}}})
    assert _pages(cluster, limit=2, labelSelector="app=web") == [(["c1", "c2"], None), (["c4"], None)]


def test_later_pages_show_the_version_of_the_first(cluster: Cluster) -> None:
    first = _list(cluster, limit=2)
    cluster.delete("ConfigMap/v1", "c3")
    cluster.create(config_map("c9"))
    second = _list(cluster, limit=5, **{"continue": first.body["metadata"]["continue"]})
    assert _names(second) == ["c2", "c3", "c4"]
    assert second.body["metadata"]["resourceVersion"] == first.body["metadata"]["resourceVersion"]


def test_a_limit_below_zero_is_none(cluster: Cluster) -> None:
    assert len(_names(_list(cluster, limit=-1))) == 5


def test_version_zero_ignores_the_limit(cluster: Cluster) -> None:
    assert len(_names(_list(cluster, limit=2, resourceVersion="0"))) == 5


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        ("a%", "continue key is not valid: illegal base64 data at input byte 1"),
        ("AAAAA", "continue key is not valid: illegal base64 data at input byte 4"),
        ("AAAA", "continue key is not valid: invalid character"),
        (_token(v="meta.k8s.io/v2", rv=1, start="a"), "does not recognize this encoded version meta.k8s.io/v2"),
        (_token(rv=1, start="a"), "does not recognize this encoded version "),
        (
            _token(v="meta.k8s.io/v1", rv="x", start="a"),
            "cannot unmarshal string into Go struct field continueToken.rv",
        ),
        (_token(v="meta.k8s.io/v1", rv=1, start=""), "encoded start key empty"),
        (_token(v="meta.k8s.io/v1", rv=1), "encoded start key empty"),
        (_token(v="meta.k8s.io/v1", rv=0, start="a"), "incorrect encoded start resourceVersion"),
        (_token(v="meta.k8s.io/v1", rv=1, start="../../x"), "not valid: ../../x"),
    ],
)
def test_a_token_that_is_none_is_a_bad_request(cluster: Cluster, token: str, problem: str) -> None:
    response = _list(cluster, limit=2, **{"continue": token})
    assert response.code == 400
    assert problem in response.body["message"]


def test_a_token_and_a_version_exclude_each_other(cluster: Cluster) -> None:
    token = _token(v="meta.k8s.io/v1", rv=int(cluster.resource_version), start="c2")
    assert _list(cluster, resourceVersion=cluster.resource_version, **{"continue": token}).code == 400
    assert _names(_list(cluster, resourceVersion="0", **{"continue": token})) == ["c2", "c3", "c4"]


@pytest.mark.parametrize("version", [-1, -5])
def test_a_token_without_a_version_reads_the_newest(cluster: Cluster, version: int) -> None:
    cluster.create(config_map("c9"))
    response = _list(cluster, **{"continue": _token(v="meta.k8s.io/v1", rv=version, start="c3")})
    assert _names(response) == ["c3", "c4", "c9"]


def test_a_token_beyond_the_history_is_gone(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "HISTORY", 3)
    token = _list(cluster, limit=2).body["metadata"]["continue"]
    for index in range(10):
        cluster.create(config_map(f"d{index}"))
    response = _list(cluster, **{"continue": token})
    assert (response.code, response.body["reason"]) == (410, "Expired")
    assert response.body["message"].startswith("The provided continue parameter is too old")


def test_a_list_at_an_exact_version_shows_the_past(cluster: Cluster) -> None:
    then = cluster.resource_version
    cluster.delete("ConfigMap/v1", "c0")
    assert _names(_list(cluster, resourceVersion=then, resourceVersionMatch="Exact")) == ["c0", "c1", "c2", "c3", "c4"]
    assert _names(_list(cluster, resourceVersion=then, resourceVersionMatch="NotOlderThan")) == ["c1", "c2", "c3", "c4"]
    assert _names(_list(cluster, resourceVersion=then)) == ["c1", "c2", "c3", "c4"]
    assert _names(_list(cluster, resourceVersion=then, limit=5)) == ["c0", "c1", "c2", "c3", "c4"]


def test_a_version_of_the_future_is_a_timeout(cluster: Cluster) -> None:
    future = int(cluster.resource_version) + 1
    assert _list(cluster, resourceVersion=future - 1).code == 200
    response = _list(cluster, resourceVersion=future)
    assert response.code == 504
    assert response.body["message"].endswith(f"Too large resource version: {future}, current: {future - 1}")
    assert response.body["details"]["retryAfterSeconds"] == 1
    exact = _list(cluster, resourceVersion=future, resourceVersionMatch="Exact")
    assert "retryAfterSeconds" not in exact.body["details"]
    assert cluster.request(ApiRequest("GET", f"{CONFIG_MAPS}/c0", {"resourceVersion": (str(future),)})).code == 504


def test_field_selectors_work_with_and_without_labels(cluster: Cluster) -> None:
    cluster.patch("ConfigMap/v1", "c1", {"metadata": {"labels": {"app": "web"}}})
    assert _names(_list(cluster, fieldSelector="metadata.name=c1")) == ["c1"]
    assert _names(_list(cluster, fieldSelector="metadata.name!=c1", labelSelector="app=web")) == []
    assert _names(_list(cluster, labelSelector="app")) == ["c1"]
    assert _names(_list(cluster, labelSelector="!app")) == ["c0", "c2", "c3", "c4"]
    assert _list(cluster, fieldSelector="data.a=1").code == 400


def test_lists_of_built_in_kinds_name_the_kind_once_and_custom_ones_in_each_item(cluster: Cluster) -> None:
    cluster.create(widget())
    assert "kind" not in _list(cluster).body["items"][0]
    body = _list(cluster, WIDGETS).body
    assert (body["kind"], body["items"][0]["kind"]) == ("WidgetList", "Widget")
    assert body["metadata"]["continue"] == ""
    assert cluster.list(WIDGET)[0]["kind"] == "Widget"


def test_a_list_at_a_version_beyond_the_history_is_gone(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "HISTORY", 3)
    then = cluster.resource_version
    for index in range(10):
        cluster.create(config_map(f"d{index}"))
    response = _list(cluster, resourceVersion=then, resourceVersionMatch="Exact")
    assert (response.code, response.body["reason"]) == (410, "Expired")
    assert _list(cluster, resourceVersion=cluster.state.floor, resourceVersionMatch="Exact").code == 200
