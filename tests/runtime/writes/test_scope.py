"""A reconcile with one status write, whatever way it ends."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, InternalError, WrongObject
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.writes.conditions import get_condition, patch_conditions
from kontend.runtime.writes.finalizers import add_finalizer
from kontend.runtime.writes.scope import NotStored, StaleObject, StatusScope
from kontend.runtime.writes.spec import mutate_object
from kontend.runtime.writes.status import mutate_status
from runtime.wire import Crash, Fault, run, wired


def cluster(**status: Any) -> Cluster:
    fields: dict[str, Any] = {"status": status} if status else {}
    return Cluster(crds=[definition()], objects=[widget(spec={"size": 1}, **fields)])


def write(server: Cluster, **status: Any) -> None:
    server.patch(WIDGET, "w", {"status": status}, subresource="status")


def test_everything_that_was_changed_is_one_locked_patch_at_the_end() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            obj["status"]["phase"] = "Starting"
            scope.status["replicas"] = 3
            assert wire.calls == []
            obj["status"]["phase"] = "Ready"

    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    version = obj["metadata"]["resourceVersion"]
    run(reconcile())
    assert wire.bodies == [{"metadata": {"resourceVersion": version}, "status": {"phase": "Ready", "replicas": 3}}]
    assert obj == server.get(WIDGET, "w")


def test_nothing_is_sent_when_nothing_changed() -> None:
    async def reconcile(obj: Any) -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = scope.status.get("phase")

    for server in (cluster(phase="Pending"), cluster()):
        api, wire = wired(server)
        run(reconcile(server.get(WIDGET, "w")))
        assert wire.calls == []


def test_an_early_return_flushes() -> None:
    async def reconcile() -> str:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.status["phase"] = "Paused"
            return "early"

    server = cluster()
    api, _ = wired(server)
    assert run(reconcile()) == "early"
    assert server.get(WIDGET, "w")["status"] == {"phase": "Paused"}


def test_an_exception_flushes_and_is_not_replaced() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.status["phase"] = "Failed"
            raise failure

    server = cluster()
    api, _ = wired(server)
    failure = ValueError("bad spec")
    with pytest.raises(ValueError, match="bad spec") as raised:
        run(reconcile())
    assert raised.value is failure
    assert server.get(WIDGET, "w")["status"] == {"phase": "Failed"}


def test_when_the_flush_fails_too_both_are_reported() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.status["phase"] = "Failed"
            raise ValueError("bad spec")

    server = cluster()
    api, _ = wired(server, at={0: Fault(InternalError("the disk is full"))})
    with pytest.raises(ValueError, match="bad spec") as raised:
        run(reconcile())
    assert raised.value.__notes__ == ["The status could not be written either: InternalError: the disk is full"]


def test_a_conflict_at_the_end_is_raised_and_leaves_the_object_as_it_was_read() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Ready"
            write(server, message="another writer")

    server = cluster(phase="Pending")
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    as_read = copy_json(obj)
    with pytest.raises(Conflict):
        run(reconcile())
    assert obj == as_read
    assert server.get(WIDGET, "w")["status"] == {"phase": "Pending", "message": "another writer"}


@pytest.mark.parametrize("error", [Crash, KeyboardInterrupt, GeneratorExit])
def test_a_reconcile_that_is_torn_down_sends_nothing(error: type[BaseException]) -> None:
    async def reconcile() -> None:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.status["phase"] = "Ready"
            raise error

    server = cluster()
    api, wire = wired(server)
    with pytest.raises(error):
        run(reconcile())
    assert wire.calls == []


def test_an_early_flush_goes_on_from_its_answer() -> None:
    """No self-conflict: the second patch is locked to the version that the first one made."""

    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Starting"
            assert await scope.flush()
            assert not await scope.flush()
            scope.status["phase"] = "Ready"

    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    assert [body["status"] for body in wire.bodies] == [{"phase": "Starting"}, {"phase": "Ready"}]
    assert obj == server.get(WIDGET, "w")


def test_after_a_failed_flush_nothing_more_is_sent() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.status["phase"] = "Starting"
            write(server, message="another writer")
            await scope.flush()

    server = cluster()
    api, wire = wired(server)
    with pytest.raises(Conflict) as raised:
        run(reconcile())
    assert len(wire.calls) == 1
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize(
    "bypass",
    [
        lambda api, obj: mutate_status(api, obj, lambda fresh: fresh["status"].update(a=1)),
        lambda api, obj: mutate_object(api, obj, lambda fresh: add_finalizer(fresh, "example.com/f")),
        lambda api, obj: patch_conditions(api, obj, [{"type": "A", "status": "True", "reason": "R"}]),
    ],
)
def test_a_write_of_the_object_past_the_scope_is_an_error(bypass: Any) -> None:
    """It replaced what was changed in memory; without the error that would be lost in silence."""

    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Ready"
            await bypass(api, obj)

    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    with pytest.raises(WrongObject, match="written inside the scope but not through it"):
        run(reconcile())


def test_a_change_outside_the_status_is_an_error() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, server.get(WIDGET, "w")) as scope:
            scope.obj["spec"]["size"] = 2

    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match=r"spec\.size was changed"):
        run(reconcile())
    assert wire.calls == []


@pytest.mark.parametrize("obj", [None, {}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}])
def test_a_wrong_object_is_refused_at_once(obj: Any) -> None:
    api, _ = wired(cluster())
    with pytest.raises(WrongObject, match="StatusScope"):
        StatusScope(api, obj)


def test_conditions_are_about_the_generation_that_was_read() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.set_condition("Ready", True, "AllUp")

    server = cluster()
    server.patch(WIDGET, "w", {"spec": {"size": 2}})
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    ready = get_condition(server.get(WIDGET, "w"), "Ready") or {}
    assert (ready["observedGeneration"], ready["lastTransitionTime"]) == (2, server.now)


# Values that must be stored


def test_a_stored_value_is_flushed_at_once_with_all_that_was_changed() -> None:
    server = cluster()
    api, wire = wired(server)
    scope = StatusScope(api, server.get(WIDGET, "w"))
    scope.status["phase"] = "Starting"
    run(scope.store("children.web", {"name": "n"}))
    assert wire.bodies[0]["status"] == {"phase": "Starting", "children": {"web": {"name": "n"}}}
    assert scope.get("children.web") == {"name": "n"}
    run(scope.store("children.web", None))
    assert server.get(WIDGET, "w")["status"]["children"] == {}


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        ({"name": "n", "uid": "u"}, "uid"),
        ({"steps": [{"id": 1, "no": 2}]}, r"steps\[0\].no"),
        ({"names": ["a"]}, "names"),
    ],
)
def test_a_field_that_the_schema_drops_is_an_error_that_names_it(value: Any, lost: str) -> None:
    steps = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    child = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}
    status = {"type": "object", "properties": {"child": child}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    server = Cluster(crds=[definition(schema=schema)], objects=[widget()])
    api, _ = wired(server)
    scope = StatusScope(api, server.get(WIDGET, "w"))
    with pytest.raises(NotStored, match=rf"did not keep status\.child\.{lost}: the schema of Widget"):
        run(scope.store("child", value))


def test_a_path_through_something_else_is_an_error() -> None:
    server = cluster(phase="Ready")
    api, _ = wired(server)
    scope = StatusScope(api, server.get(WIDGET, "w"))
    assert scope.get("phase.web") is None
    with pytest.raises(WrongObject, match=r"status\.phase is 'Ready'"):
        scope.put("phase.web", 1)


def test_the_version_in_hand_is_compared_with_that_of_the_server() -> None:
    server = cluster()
    api, _ = wired(server)
    scope = StatusScope(api, server.get(WIDGET, "w"))
    run(scope.check_fresh())
    write(server, phase="Ready")
    with pytest.raises(StaleObject, match="on the server, not "):
        run(scope.check_fresh())
    server.delete(WIDGET, "w")
    with pytest.raises(StaleObject, match="is gone on the server"):
        run(scope.check_fresh())


def test_a_status_that_was_removed_stays_removed_after_another_write() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            obj["status"] = None
            assert await mutate_object(api, scope, lambda fresh: add_finalizer(fresh, "example.com/f"))
            assert "status" not in obj

    server = cluster(phase="Ready")
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    run(reconcile())
    assert "status" not in server.get(WIDGET, "w")
