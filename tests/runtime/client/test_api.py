"""The client of a reconcile: writes return the object that was passed, updated in place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import json_patch, merge_from, raw
from runtime.wire import run, wired

Object = dict[str, Any]
MERGE = "application/merge-patch+json"


@pytest.mark.parametrize(
    "write",
    [
        lambda api, obj: api.update(obj),
        lambda api, obj: api.update(obj, subresource="status"),
        lambda api, obj: api.patch(obj, raw(MERGE, b'{"metadata":{"labels":{"a":"b"}}}')),
        lambda api, obj: api.patch(obj, json_patch([])),
        lambda api, obj: api.patch(obj, merge_from({**obj, "spec": {}})),
        lambda api, obj: api.status.update(obj),
        lambda api, obj: api.status.patch(obj, raw(MERGE, b'{"status":{"phase":"Ready"}}')),
    ],
)
def test_a_write_returns_the_object_that_was_passed(write: Callable[[Api, Object], Awaitable[Object]]) -> None:
    async def reconcile() -> None:
        obj = await api.get(WIDGET, "default/w")
        assert await write(api, obj) is obj
        assert obj == server.get(WIDGET, "w")

    server = Cluster(crds=[definition()], objects=[widget()])
    api, _ = wired(server)
    run(reconcile())


def test_create_returns_the_object_with_what_the_server_added() -> None:
    async def reconcile() -> Object:
        given = config_map("c")
        created = await api.create(given)
        assert created is given
        return created

    server = Cluster()
    api, _ = wired(server)
    created = run(reconcile())
    assert created["metadata"]["uid"]
    assert created == server.get("ConfigMap/v1", "c")


@pytest.mark.parametrize("writer", [lambda api: api, lambda api: api.status])
def test_apply_returns_the_object_that_was_passed(writer: Callable[[Api], Any]) -> None:
    async def reconcile() -> None:
        given = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"phase": "A"}}
        assert await writer(api).apply(given) is given
        assert given == server.get(WIDGET, "w")

    server = Cluster(crds=[definition()], objects=[widget()])
    api, _ = wired(server)
    run(reconcile())


def test_a_subresource_that_is_created_returns_the_response() -> None:
    async def reconcile() -> Object:
        pod = await api.get("Pod/v1", "default/p")
        before = dict(pod)
        binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        response = await api.create_subresource(pod, "binding", binding)
        assert pod == before
        return response

    spec = {"containers": [{"name": "main", "image": "app:1"}]}
    server = Cluster(objects=[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}])
    api, _ = wired(server)
    assert run(reconcile())["status"] == "Success"
