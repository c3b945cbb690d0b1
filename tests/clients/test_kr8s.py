"""kr8s, the client that looks like kubectl."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clients.conftest import Running

kr8s = pytest.importorskip("kr8s", reason="the kr8s package is not installed (group clients)")
from kr8s.asyncio.objects import ConfigMap, Deployment, new_class  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
Run = Callable[[Callable[[Any], Awaitable[None]]], None]


@pytest.fixture
def run(server: Running, namespace: str) -> Run:
    """Runs a coroutine with a client, and closes what the client leaves open."""

    async def with_client(scenario: Callable[[Any], Awaitable[None]]) -> None:
        api = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
        try:
            await scenario(api)
        finally:
            await api._session.aclose()

    return lambda scenario: asyncio.run(with_client(scenario))


def manifest(api: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "metadata": {"name": "web", "namespace": api.namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }


def test_the_server_is_discovered(run: Run) -> None:
    async def scenario(api: Any) -> None:
        assert (await api.version())["minor"] == "35"
        assert {"pods", "deployments", "gardens"} <= {
            api_resource["name"] for api_resource in await api.api_resources()
        }
        assert "default" in [namespace.name async for namespace in api.get("namespaces")]

    run(scenario)


def test_objects_are_created_patched_labelled_and_deleted(run: Run) -> None:
    async def scenario(api: Any) -> None:
        web = await Deployment(manifest(api), api=api)
        await web.create()
        assert await web.exists()
        await web.patch({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}})
        assert web.spec.template.spec.containers[0].image == "j"
        await web.label({"tier": "front"})
        await web.annotate({"note": "x"})
        await web.refresh()
        assert (web.labels["tier"], web.annotations["note"]) == ("front", "x")
        await web.patch({"spec": {"replicas": 4}})
        assert web.replicas == 4
        assert [deployment.name async for deployment in api.get("deployments", label_selector={"app": "web"})] == [
            "web"
        ]
        await web.delete()
        assert not await web.exists()

    run(scenario)


def test_custom_resources_and_their_status(run: Run) -> None:
    garden_class = new_class("Garden", version="clients.kontend.dev/v1", namespaced=True, plural="gardens")

    async def scenario(api: Any) -> None:
        spec = {"plant": "rose"}
        garden = await garden_class({"metadata": {"name": "rose", "namespace": api.namespace}, "spec": spec}, api=api)
        await garden.create()
        await garden.patch({"status": {"phase": "Blooming"}}, subresource="status")
        await garden.refresh()
        assert garden.raw["status"] == {"phase": "Blooming"}

    run(scenario)


def test_watch_and_wait(run: Run) -> None:
    async def scenario(api: Any) -> None:
        metadata = {"name": "cm", "namespace": api.namespace}
        settings = await ConfigMap({"metadata": metadata, "data": {"n": "0"}}, api=api)
        await settings.create()
        seen = []
        async for event, obj in api.watch("configmaps", namespace=api.namespace):
            seen.append((event, obj.data.n))
            if obj.data.n == "2":
                break
            await settings.patch({"data": {"n": str(int(obj.data.n) + 1)}})
        assert seen == [("ADDED", "0"), ("MODIFIED", "1"), ("MODIFIED", "2")]
        web = await Deployment(manifest(api), api=api)
        await web.create()
        condition = {"type": "Available", "status": "True"}
        await web.patch({"status": {"conditions": [condition]}}, subresource="status")
        await web.wait("condition=Available", timeout=20)

    run(scenario)
