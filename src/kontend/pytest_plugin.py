"""The pytest fixture ``kontend_server``: an API server of its own for each test.

    @pytest.mark.kontend(crds=["crds/"], objects=["seed.yaml"])
    def test_my_controller(kontend_server):
        client = make_client(kontend_server.url)            # or kontend_server.kubeconfig
        ...
        assert kontend_server.cluster.get("Widget.example.com/v1", "w")["status"]["phase"] == "Ready"

``crds`` and ``objects`` are objects or paths of files. The plugin imports the server only when a test uses the
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
    """Register the mark."""
    config.addinivalue_line("markers", "kontend(crds=[], objects=[]): initial content of the server of kontend_server")


@pytest.fixture
def kontend_server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    """Run an API server with ``url``, ``kubeconfig`` (a path) and ``cluster`` (to read and write from Python)."""
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
    """Return the given objects, and those of files; a relative path starts at the directory of the test."""
    from kontend.serve import manifests

    objects: list[Mapping[str, Any]] = []
    for item in given:
        if isinstance(item, str | Path):
            objects += [manifest.obj for manifest in manifests.read([base / item])]
        else:
            objects.append(item)
    return objects
