"""The pytest fixture ``kontend_server``: an API server of its own for each test.

    @pytest.mark.kontend(crds=["crds/"], objects=["seed.yaml"])
    def test_my_controller(kontend_server):
        client = make_client(kontend_server.url)            # or kontend_server.kubeconfig
        ...
        assert kontend_server.cluster.get("Widget.example.com/v1", "w")["status"]["phase"] == "Ready"

``crds`` and ``objects`` are objects or paths of files. Nothing of kontend is imported until a test asks for the
fixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kontend.serve.background import BackgroundServer


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "kontend(crds=[], objects=[]): what the server of kontend_server begins with")


@pytest.fixture
def kontend_server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    """A running API server: ``url``, ``kubeconfig`` (a path) and ``cluster`` (to look and write from Python)."""
    from kontend.cluster.cluster import Cluster
    from kontend.serve.background import BackgroundServer

    mark = request.node.get_closest_marker("kontend")
    given = dict(mark.kwargs) if mark is not None else {}
    unknown = set(given) - {"crds", "objects"}
    if unknown:
        raise pytest.UsageError(f"pytest.mark.kontend: expected crds and objects, found {', '.join(sorted(unknown))}")
    base = request.path.parent
    crds, objects = _objects(given.get("crds", ()), base), _objects(given.get("objects", ()), base)
    with BackgroundServer(Cluster(crds=crds, objects=objects).state) as server:
        yield server


def _objects(given: Iterable[Mapping[str, Any] | str | Path], base: Path) -> list[Mapping[str, Any]]:
    """Objects as they are, and those in files; a relative path begins where the test is."""
    from kontend.serve import manifests

    found: list[Mapping[str, Any]] = []
    for each in given:
        if isinstance(each, str | Path):
            found += [manifest.obj for manifest in manifests.read([base / each])]
        else:
            found.append(each)
    return found
