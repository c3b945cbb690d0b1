"""Routing: which paths and methods are served, and the answers where they are not."""

from __future__ import annotations

import pytest

from cluster.objects import config_map, definition, pod, widget
from kontend import Cluster
from kontend.cluster.request import ApiRequest

CORE, CUSTOM = "/api/v1/namespaces/default", "/apis/example.com/v1/namespaces/default"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[config_map(), widget(), pod()])


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"{CORE}/configmaps", 200),
        ("GET", f"{CORE}/configmaps/", 200),
        ("GET", f"{CORE}/configmaps/c", 200),
        ("HEAD", f"{CORE}/configmaps/c", 200),
        ("GET", f"{CORE}/pods/p/status", 200),
        ("GET", "/api/v1/configmaps", 200),
        ("GET", "/api/v1/namespaces/default", 200),
        ("GET", "/api/v1/namespaces/default/status", 200),
        ("GET", f"{CORE}/configmaps/c%2Fd", 404),
        ("GET", f"{CORE}/nonsense", 404),
        ("GET", f"{CORE}/configmaps/c/nonsense", 404),
        ("GET", f"{CORE}/nodes", 404),
        ("GET", f"{CORE}//c", 404),
        ("GET", "/api/v1/configmaps/c", 404),
        ("GET", "/api/v2/configmaps", 404),
        ("GET", "/apis/nonsense.io/v1/things", 404),
        ("GET", f"{CUSTOM}/widgets/w/nonsense", 404),
        ("PUT", f"{CORE}/configmaps", 405),
        ("PATCH", f"{CORE}/configmaps", 405),
        ("POST", f"{CORE}/configmaps/c", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("PROPFIND", f"{CORE}/configmaps", 405),
        ("DELETE", f"{CORE}/pods/p/status", 405),
        ("POST", f"{CUSTOM}/widgets/w/status", 405),
        ("PUT", f"{CUSTOM}/widgets", 400),
        ("PATCH", f"{CUSTOM}/widgets", 400),
        ("POST", "/apis/example.com/v1/widgets", 404),
    ],
)
def test_paths_and_methods(cluster: Cluster, method: str, path: str, code: int) -> None:
    before = cluster.state
    assert cluster.request(ApiRequest(method, path)).code == code
    assert cluster.state is before


@pytest.mark.parametrize("limit", [2**63 - 1, 1])
def test_numbers_of_64_bits_are_options(cluster: Cluster, limit: int) -> None:
    assert cluster.request(ApiRequest("GET", f"{CORE}/configmaps", {"limit": (str(limit),)})).code == 200


@pytest.mark.parametrize("limit", ["x", str(2**63), str(-(2**63) - 1), "1.5"])
def test_other_numbers_are_bad_requests(cluster: Cluster, limit: str) -> None:
    assert cluster.request(ApiRequest("GET", f"{CORE}/configmaps", {"limit": (limit,)})).code == 400


@pytest.mark.parametrize("watch", ["1", "true", "True", "yes"])
def test_a_query_makes_a_list_a_watch(cluster: Cluster, watch: str) -> None:
    assert cluster.request(ApiRequest("GET", f"{CORE}/configmaps", {"watch": (watch,)})).watch is not None
    assert cluster.request(ApiRequest("GET", f"{CORE}/configmaps", {"watch": ("false",)})).watch is None
