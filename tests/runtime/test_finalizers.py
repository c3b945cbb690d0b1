"""Finalizers are added and removed without touching those of others."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, NotFound
from kontend.runtime.writes.finalizers import add_finalizer, has_finalizer, remove_finalizer
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.snapshot import WrongObject
from runtime.wire import run, wired

OURS, THEIRS = "example.com/ours", "example.com/theirs"


def cluster(*finalizers: str) -> Cluster:
    metadata = {"finalizers": list(finalizers)} if finalizers else {}
    return Cluster(crds=[definition()], objects=[widget(metadata=metadata)])


def finalizers(server: Cluster) -> list[str]:
    found: list[str] = server.get(WIDGET, "w")["metadata"].get("finalizers", [])
    return found


def test_adding_and_removing_leaves_those_of_others() -> None:
    server = cluster(THEIRS)
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    assert run(add_finalizer(api, obj, OURS))
    assert finalizers(server) == [THEIRS, OURS]
    assert run(remove_finalizer(api, obj, OURS))
    assert finalizers(server) == [THEIRS]


def test_the_first_is_added_and_the_last_removed() -> None:
    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(add_finalizer(api, obj, OURS))
    assert has_finalizer(obj, OURS)
    run(remove_finalizer(api, obj, OURS))
    assert finalizers(server) == []
    assert not has_finalizer(obj, OURS)


def test_what_is_there_is_not_added_again_and_what_is_not_is_not_removed() -> None:
    server = cluster(OURS)
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    assert not run(add_finalizer(api, obj, OURS))
    assert not run(remove_finalizer(api, obj, THEIRS))
    assert wire.calls == []


@pytest.mark.parametrize("write", [add_finalizer, remove_finalizer])
def test_from_a_stale_snapshot_it_is_refused_and_nothing_is_lost(write: Any) -> None:
    server = cluster(*([OURS] if write is remove_finalizer else []))
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"metadata": {"finalizers": [*finalizers(server), THEIRS]}})
    with pytest.raises(Conflict):
        run(write(api, stale, OURS))
    assert THEIRS in finalizers(server)


def test_removing_the_last_one_of_a_deleted_object_lets_it_go() -> None:
    server = cluster(OURS)
    server.delete(WIDGET, "w")
    api, _ = wired(server)
    run(remove_finalizer(api, server.get(WIDGET, "w"), OURS))
    with pytest.raises(NotFound):
        server.get(WIDGET, "w")


def test_the_finalizer_of_an_object_made_again_under_the_name_is_not_touched() -> None:
    server = cluster(OURS)
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.delete(WIDGET, "w")
    server.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    server.create(widget(metadata={"finalizers": [OURS]}))
    with pytest.raises(Conflict):
        run(remove_finalizer(api, stale, OURS))
    assert finalizers(server) == [OURS]


def test_a_scope_is_taken_in_the_place_of_the_object() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Ready"
            await add_finalizer(api, scope, OURS)

    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    assert finalizers(server) == [OURS]
    assert server.get(WIDGET, "w")["status"] == {"phase": "Ready"}


@pytest.mark.parametrize("name", [None, "", 1, [OURS]])
def test_a_wrong_name_is_refused(name: Any) -> None:
    server = cluster()
    api, wire = wired(server)
    for write in (add_finalizer, remove_finalizer):
        with pytest.raises(WrongObject, match="expected a finalizer"):
            run(write(api, server.get(WIDGET, "w"), name))
    assert wire.calls == []
