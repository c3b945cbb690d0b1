"""The fixture ``kontend_server``, as a user's tests see it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from kontend.serve.background import BackgroundServer
from serve.objects import WIDGETS_PATH, widget, widgets
from serve.wire import CONFIG_MAPS, Client


@pytest.mark.kontend(crds=[widgets()], objects=[widget(size=2)])
def test_the_mark_says_what_the_server_begins_with(kontend_server: BackgroundServer, client: Client) -> None:
    """Definitions and objects."""
    assert client.get(f"{WIDGETS_PATH}/w").json["spec"] == {"size": 2}
    assert (
        yaml.safe_load(kontend_server.kubeconfig.read_text())["clusters"][0]["cluster"]["server"] == kontend_server.url
    )


@pytest.mark.parametrize("time", [1, 2])
def test_each_test_has_a_server_of_its_own(client: Client, time: int) -> None:
    """The second one does not see the writes of the first one."""
    assert client.get(CONFIG_MAPS).json["items"] == []
    assert client.create(f"c{time}").code == 201


def test_the_cluster_in_python_is_the_one_that_is_served(kontend_server: BackgroundServer, client: Client) -> None:
    """Writes of either are seen by the other, and a fork by nobody."""
    client.create("a", n="1")
    cluster = kontend_server.cluster
    cluster.patch("ConfigMap/v1", "a", {"data": {"n": "2"}})
    cluster.fork().delete("ConfigMap/v1", "a")
    assert client.get(f"{CONFIG_MAPS}/a").json["data"] == {"n": "2"}
    assert cluster.get("ConfigMap/v1", "a")["data"] == {"n": "2"}


def test_files_can_be_named_beside_the_test(tmp_path: Path) -> None:
    """Paths begin where the test is; an unknown argument of the mark is refused."""
    (tmp_path / "crds.yaml").write_text(yaml.safe_dump(widgets()))
    (tmp_path / "test_it.py").write_text(
        """
import pytest

@pytest.mark.kontend(crds=["crds.yaml"])
def test_crds(kontend_server):
    assert kontend_server.cluster.list("Widget.example.com/v1") == []

@pytest.mark.kontend(nonsense=[])
def test_nonsense(kontend_server):
    pass
"""
    )
    installed = entry_points(group="pytest11", name="kontend")
    plugin = [] if installed else ["-p", "kontend.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", *plugin, "-q", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "1 passed, 1 error" in run.stdout, run.stdout + run.stderr
    assert "expected crds and objects, found nonsense" in run.stdout
