"""The example of a plan, run as it is."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from definitions import definition
from kontend import Cluster, Controller
from kontend.testing import settle

APP = "App.example.com/v1"
EXAMPLE = Path(__file__).parents[2] / "examples" / "rollout_operator.py"


@pytest.fixture(scope="module")
def apps() -> type[Controller]:
    spec = util.spec_from_file_location("rollout_operator", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["rollout_operator"] = module
    spec.loader.exec_module(module)
    controller: type[Controller] = module.Apps
    return controller


def cluster() -> Cluster:
    app = {"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "a"}, "spec": {"image": "app:1"}}
    return Cluster(crds=[definition("App")], objects=[app])


def roll(server: Cluster, controller: Any) -> None:
    """Let the controllers run, the Deployment's own included: it sees every generation."""
    settle(server, [controller])
    generation = server.get("Deployment.apps/v1", "a")["metadata"]["generation"]
    server.patch("Deployment.apps/v1", "a", {"status": {"observedGeneration": generation}}, subresource="status")
    settle(server, [controller])


def test_the_app_is_rolled_out_in_steps_and_each_rollout_announced_once(apps: type[Controller]) -> None:
    server = cluster()
    settle(server, [apps()])
    assert server.get(APP, "a")["status"]["plan"]["tasks"][1]["status"] == "Running"
    roll(server, apps())
    status = server.get(APP, "a")["status"]
    assert (status["currentImage"], status["phase"], "plan" in status) == ("app:1", "Running", False)
    server.patch(APP, "a", {"spec": {"image": "app:2"}})
    roll(server, apps())
    assert server.get(APP, "a")["status"]["currentImage"] == "app:2"
    assert sorted(config_map["data"]["image"] for config_map in server.list("ConfigMap/v1")) == ["app:1", "app:2"]
    before = server.resource_version
    settle(server, [apps()])
    assert server.resource_version == before
