"""Writes of spec and metadata: always locked, only what changed."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, WrongObject
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.spec import mutate_object
from runtime.wire import run, wired


def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[widget(spec={"size": 1, "authz": "x"}, status={"phase": "Pending"})])


def resize(obj: Any) -> None:
    obj["spec"]["size"] = 2


def test_only_what_changed_is_sent_and_always_with_the_version() -> None:
    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    version = obj["metadata"]["resourceVersion"]
    assert run(mutate_object(api, obj, resize))
    assert wire.bodies == [{"metadata": {"resourceVersion": version}, "spec": {"size": 2}}]
    assert wire.calls[0].subresource == ""
    assert obj == server.get(WIDGET, "w")
    assert obj["spec"] == {"size": 2, "authz": "x"}


def test_metadata_is_sent_together_with_the_version() -> None:
    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(mutate_object(api, obj, lambda fresh: fresh["metadata"].update(labels={"a": "b"})))
    assert set(wire.bodies[0]["metadata"]) == {"labels", "resourceVersion"}
    assert server.get(WIDGET, "w")["metadata"]["labels"] == {"a": "b"}


def test_a_no_op_sends_nothing() -> None:
    server = cluster()
    api, wire = wired(server)
    assert not run(mutate_object(api, server.get(WIDGET, "w"), lambda fresh: fresh["spec"].update(size=1)))
    assert wire.calls == []


def test_a_stale_snapshot_is_refused_and_the_object_left_as_it_was_read() -> None:
    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    as_read = copy_json(obj)
    server.patch(WIDGET, "w", {"spec": {"authz": "y"}})
    with pytest.raises(Conflict):
        run(mutate_object(api, obj, resize))
    assert obj == as_read
    assert server.get(WIDGET, "w")["spec"] == {"size": 1, "authz": "y"}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda obj: obj["status"].update(phase="Ready"), "status"),
        (lambda obj: obj["metadata"].update(name="v"), "metadata.name"),
        (lambda obj: obj["metadata"].update(uid="v"), "metadata.uid"),
        (lambda obj: obj["metadata"].update(resourceVersion="1"), "metadata.resourceVersion"),
        (lambda obj: obj.update(kind="Gadget"), "kind"),
        (lambda obj: obj.pop("metadata"), "metadata"),
    ],
)
def test_the_status_and_the_identity_are_not_written_here(change: Any, path: str) -> None:
    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    with pytest.raises(WrongObject, match=f"{path} was changed"):
        run(mutate_object(api, obj, change))
    assert wire.calls == []
    assert obj == server.get(WIDGET, "w")


@pytest.mark.parametrize("obj", [None, 1, {}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}])
def test_a_wrong_object_is_refused_before_mutate_is_called(obj: Any) -> None:
    api, wire = wired(cluster())
    called: list[Any] = []
    with pytest.raises(WrongObject, match="mutate_object"):
        run(mutate_object(api, obj, called.append))
    assert called == []
    assert wire.calls == []


def test_in_a_scope_what_was_changed_in_the_status_is_kept_for_the_flush() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Resizing"
            await mutate_object(api, scope, resize)
            assert obj["status"] == {"phase": "Resizing"}
            obj["status"]["size"] = 2

    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    after = server.get(WIDGET, "w")
    assert (after["spec"]["size"], after["status"]) == (2, {"phase": "Resizing", "size": 2})
    assert [call.subresource for call in wire.calls] == ["", "status"]
    assert obj == after


def test_in_a_scope_a_removed_status_stays_removed() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            del obj["status"]
            await mutate_object(api, scope, resize)

    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    assert "status" not in server.get(WIDGET, "w")
