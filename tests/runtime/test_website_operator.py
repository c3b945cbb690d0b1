"""The operator of the README: in a unit test, and the same file against ``kontend serve``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from cli.test_run import running
from kontend.cluster.cluster import Cluster
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.user_file import controllers_in, load_file
from kontend.serve.background import BackgroundServer
from kontend.testing import InProcessManager

EXAMPLES = Path(__file__).parents[2] / "examples"
FILE = EXAMPLES / "website_operator.py"
WEBSITE, DEPLOYMENT = "Website.example.com/v1", "Deployment.apps/v1"


def cluster(*, image: str = "nginx:1") -> Cluster:
    site = {
        "apiVersion": "example.com/v1",
        "kind": "Website",
        "metadata": {"name": "home"},
        "spec": {"image": image, "replicas": 2},
    }
    return Cluster(crds=[yaml.safe_load((EXAMPLES / "website_crd.yaml").read_text())], objects=[site])


def test_it_has_less_than_40_lines() -> None:
    assert len(FILE.read_text().splitlines()) < 40


def test_it_makes_a_deployment_follows_the_image_and_says_when_the_site_is_up() -> None:
    world = cluster()
    manager = InProcessManager(world, controllers_in(load_file(FILE)))
    manager.settle()
    made = world.get(DEPLOYMENT, "home")
    assert made["spec"]["replicas"] == 2
    assert world.get(WEBSITE, "home")["status"]["phase"] == "Starting"
    made["status"] = {"replicas": 2, "readyReplicas": 2}
    world.update_status(made)
    manager.settle()
    assert world.get(WEBSITE, "home")["status"]["phase"] == "Up"
    world.patch(WEBSITE, "home", {"spec": {"image": "nginx:2"}})
    manager.settle()
    assert world.get(DEPLOYMENT, "home")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
    version = world.resource_version
    assert manager.settle() == 0
    assert world.resource_version == version


def test_the_same_file_runs_against_a_server() -> None:
    async def wait_for_status(server: BackgroundServer) -> dict[str, Any]:
        backend = HttpBackend(server.url)
        _, version = await backend.list(WEBSITE, {})
        site = server.cluster.get(WEBSITE, "home")
        if not site.get("status"):
            async for _, site in backend.watch(WEBSITE, version, idle=20):
                if (site.get("status") or {}).get("phase"):
                    break
        backend.close()
        return site

    options = ("--status-address", "off")
    with BackgroundServer(cluster().state) as server, running(str(FILE), "--server", server.url, *options) as process:
        site = asyncio.run(asyncio.wait_for(wait_for_status(server), 30))
        assert site["status"]["phase"] == "Starting"
        assert site["status"]["deployment"]["uid"] == server.cluster.get(DEPLOYMENT, "home")["metadata"]["uid"]
        process.terminate()
        assert process.wait(20) == 0
