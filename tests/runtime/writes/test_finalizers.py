"""Finalizers, in memory as in controller-runtime, and locked when ``mutate_object`` sends them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, NotFound, WrongObject
from kontend.runtime.client.api import Api
from kontend.runtime.writes.finalizers import add_finalizer, has_finalizer, remove_finalizer
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.spec import mutate_object
from runtime.wire import run, wired

OURS, THEIRS = "example.com/ours", "example.com/theirs"


def cluster(*finalizers: str) -> Cluster:
    metadata = {"finalizers": list(finalizers)} if finalizers else {}
    return Cluster(crds=[definition()], objects=[widget(metadata=metadata)])


def finalizers(server: Cluster) -> list[str]:
    stored: list[str] = server.get(WIDGET, "w")["metadata"].get("finalizers", [])
    return stored


async def send(api: Api, target: Any, function: Any, finalizer: str = OURS) -> bool:
    return await mutate_object(api, target, lambda obj: function(obj, finalizer))


@pytest.mark.parametrize("function", [add_finalizer, remove_finalizer])
def test_they_are_plain_functions_that_send_nothing(function: Any) -> None:
    assert not inspect.iscoroutinefunction(function)


def test_adding_and_removing_leaves_those_of_others() -> None:
    server = cluster(THEIRS)
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    assert run(send(api, obj, add_finalizer))
    assert finalizers(server) == [THEIRS, OURS]
    assert run(send(api, obj, remove_finalizer))
    assert finalizers(server) == [THEIRS]


def test_the_first_is_added_and_the_last_removed() -> None:
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    assert add_finalizer(obj, OURS)
    assert has_finalizer(obj, OURS)
    assert remove_finalizer(obj, OURS)
    assert obj["metadata"] == {}


def test_a_finalizer_is_added_once_and_removed_once() -> None:
    server = cluster(OURS)
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    assert not add_finalizer(obj, OURS)
    assert not remove_finalizer(obj, THEIRS)
    assert not run(send(api, obj, add_finalizer))
    assert wire.calls == []


@pytest.mark.parametrize("function", [add_finalizer, remove_finalizer])
def test_from_a_stale_snapshot_it_is_refused_and_nothing_is_lost(function: Any) -> None:
    server = cluster(*([OURS] if function is remove_finalizer else []))
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"metadata": {"finalizers": [*finalizers(server), THEIRS]}})
    with pytest.raises(Conflict):
        run(send(api, stale, function))
    assert THEIRS in finalizers(server)


def test_removing_the_last_one_of_a_deleted_object_lets_it_go() -> None:
    server = cluster(OURS)
    server.delete(WIDGET, "w")
    api, _ = wired(server)
    run(send(api, server.get(WIDGET, "w"), remove_finalizer))
    with pytest.raises(NotFound):
        server.get(WIDGET, "w")


def test_the_finalizer_of_an_object_created_again_under_the_name_is_not_touched() -> None:
    server = cluster(OURS)
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.delete(WIDGET, "w")
    server.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    server.create(widget(metadata={"finalizers": [OURS]}))
    with pytest.raises(Conflict):
        run(send(api, stale, remove_finalizer))
    assert finalizers(server) == [OURS]


def test_a_scope_is_taken_in_the_place_of_the_object() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Ready"
            await send(api, scope, add_finalizer)

    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    assert finalizers(server) == [OURS]
    assert server.get(WIDGET, "w")["status"] == {"phase": "Ready"}


@pytest.mark.parametrize("name", [None, "", 1, [OURS]])
@pytest.mark.parametrize("function", [add_finalizer, remove_finalizer])
def test_a_wrong_name_is_refused(function: Any, name: Any) -> None:
    with pytest.raises(WrongObject, match="expected a finalizer"):
        function(cluster().get(WIDGET, "w"), name)


@pytest.mark.parametrize("function", [add_finalizer, remove_finalizer])
def test_an_object_that_is_none_is_refused(function: Any) -> None:
    with pytest.raises(WrongObject, match=f"{function.__name__}: expected an object"):
        function(None, OURS)
