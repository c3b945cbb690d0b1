"""Status writes: one patch, only what changed, with the version that was read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.encoding.json_text import InvalidObject
from kontend.kube.errors import Conflict, InternalError, NotFound, WrongObject
from kontend.kube.patches.merge_patch import without_nulls
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.guards import Guards
from kontend.runtime.writes.status import mutate_status
from runtime.wire import Fault, run, wired

FOO = {"type": "Foo", "status": "True", "reason": "Yes"}
BAR = {"type": "Bar", "status": "True", "reason": "Yes"}


def cluster(**status: Any) -> Cluster:
    fields: dict[str, Any] = {"status": status} if status else {}
    return Cluster(crds=[definition()], objects=[widget(spec={"size": 1}, **fields)])


def phase(value: Any) -> Any:
    return lambda obj: obj["status"].__setitem__("phase", value)


# One locked patch


def test_only_what_changed_is_sent_with_the_version_that_was_read() -> None:
    server = cluster(phase="Pending", message="m")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    version = obj["metadata"]["resourceVersion"]

    assert run(mutate_status(api, obj, phase("Ready")))

    (call,) = wire.calls
    assert (call.verb, call.subresource, call.content_type) == ("patch", "status", "application/merge-patch+json")
    assert call.body == f'{{"metadata":{{"resourceVersion":"{version}"}},"status":{{"phase":"Ready"}}}}'.encode()
    assert obj == server.get(WIDGET, "w")
    assert obj["status"] == {"phase": "Ready", "message": "m"}


def test_there_is_always_a_status_to_change() -> None:
    server = cluster()
    api, wire = wired(server)
    run(mutate_status(api, server.get(WIDGET, "w"), phase("Ready")))
    assert wire.bodies[0]["status"] == {"phase": "Ready"}


def test_a_removed_field_is_sent_as_null() -> None:
    server = cluster(phase="Pending", message="m")
    api, wire = wired(server)
    run(mutate_status(api, server.get(WIDGET, "w"), lambda obj: obj["status"].pop("message")))
    assert wire.bodies[0]["status"] == {"message": None}
    assert server.get(WIDGET, "w")["status"] == {"phase": "Pending"}


@pytest.mark.parametrize("lock", [True, False])
@pytest.mark.parametrize(
    "mutate",
    [
        lambda _: None,
        lambda obj: obj["status"].update(phase="Pending"),
        lambda obj: obj["status"].update(absent=None),
        lambda obj: obj.update(status={"phase": "Pending"}),
        lambda obj: obj["status"].update(absent={}) or obj["status"].pop("absent"),
    ],
)
def test_a_no_op_sends_nothing_and_leaves_the_object_as_it_was(mutate: Any, lock: bool) -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    assert not run(mutate_status(api, obj, mutate, lock=lock))
    assert wire.calls == []
    assert obj == server.get(WIDGET, "w")


def test_a_no_op_does_not_leave_an_empty_status_behind() -> None:
    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(mutate_status(api, obj, lambda _: None))
    assert wire.calls == []
    assert "status" not in obj


def test_the_lock_does_not_depend_on_the_guard() -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server, guards=Guards(locked_status=False))
    run(mutate_status(api, server.get(WIDGET, "w"), phase("Ready")))
    assert "resourceVersion" in wire.bodies[0]["metadata"]


# What is refused before anything happens


@pytest.mark.parametrize(
    ("obj", "complaint"),
    [
        (None, "found None"),
        ([], r"found \[\]"),
        ("w", "found 'w'"),
        ({}, "no apiVersion"),
        ({"apiVersion": "v1"}, "no kind"),
        ({"apiVersion": "v1", "kind": "Pod"}, "no metadata.name"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ""}}, "no metadata.name"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": ["name"]}, "no metadata.name"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, "no resourceVersion to lock"),
    ],
)
def test_a_wrong_object_is_refused_before_mutate_is_called(obj: Any, complaint: str) -> None:
    api, wire = wired(cluster())
    called: list[Any] = []
    with pytest.raises(WrongObject, match=complaint):
        run(mutate_status(api, obj, called.append))
    assert called == []
    assert wire.calls == []


def test_without_a_lock_no_version_is_needed() -> None:
    server = cluster()
    api, wire = wired(server)
    run(mutate_status(api, widget(), phase("Ready"), lock=False))
    assert wire.bodies == [{"status": {"phase": "Ready"}}]


@pytest.mark.parametrize("mutate", [None, "phase", {"phase": "Ready"}])
def test_a_mutation_that_cannot_be_called_is_refused(mutate: Any) -> None:
    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match="expected a function"):
        run(mutate_status(api, server.get(WIDGET, "w"), mutate))
    assert wire.calls == []


def test_an_async_mutation_is_refused() -> None:
    async def mutate(obj: Any) -> None:
        obj["status"]["phase"] = "Ready"

    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match="plain function"):
        run(mutate_status(api, server.get(WIDGET, "w"), mutate))
    assert wire.calls == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda obj: obj["spec"].update(size=2), "spec.size"),
        (lambda obj: obj["metadata"].update(labels={"a": "b"}), "metadata.labels.a"),
        (lambda obj: obj["metadata"].update(resourceVersion="1"), "metadata.resourceVersion"),
        (lambda obj: obj.pop("spec"), "spec"),
        (lambda obj: obj.clear(), "apiVersion"),
    ],
)
def test_a_change_outside_the_status_is_refused_and_undone(change: Any, path: str) -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    with pytest.raises(WrongObject, match=f"{path} was changed, but this writes only the status"):
        run(mutate_status(api, obj, change))
    assert wire.calls == []
    assert obj == server.get(WIDGET, "w")


# What goes wrong


def test_a_conflict_leaves_the_object_as_it_was_read() -> None:
    server = cluster(phase="Pending")
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    as_read = copy_json(obj)
    server.patch(WIDGET, "w", {"status": {"message": "another writer"}}, subresource="status")
    with pytest.raises(Conflict, match="the object has been modified"):
        run(mutate_status(api, obj, phase("Ready")))
    assert obj == as_read
    assert server.get(WIDGET, "w")["status"] == {"phase": "Pending", "message": "another writer"}


@pytest.mark.parametrize("lock", [True, False])
def test_what_the_server_refuses_is_raised_unchanged(lock: bool) -> None:
    server = cluster(phase="Pending")
    refusal = InternalError("no")
    api, _ = wired(server, at={0: Fault(refusal)})
    obj = server.get(WIDGET, "w")
    with pytest.raises(InternalError) as raised:
        run(mutate_status(api, obj, phase("Ready"), lock=lock))
    assert raised.value is refusal
    assert obj == server.get(WIDGET, "w")


def test_an_object_that_is_gone_is_not_found() -> None:
    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    server.delete(WIDGET, "w")
    with pytest.raises(NotFound):
        run(mutate_status(api, obj, phase("Ready")))


def test_an_object_made_again_under_the_name_is_not_touched() -> None:
    server = cluster()
    api, _ = wired(server)
    obj = server.get(WIDGET, "w")
    server.delete(WIDGET, "w")
    server.create(widget())
    with pytest.raises(Conflict):
        run(mutate_status(api, obj, phase("Terminating")))
    assert "status" not in server.get(WIDGET, "w")


def test_an_error_of_the_mutation_is_raised_and_its_changes_are_undone() -> None:
    def mutate(obj: Any) -> None:
        obj["status"]["phase"] = "Ready"
        raise KeyError("replicas")

    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    with pytest.raises(KeyError):
        run(mutate_status(api, obj, mutate))
    assert wire.calls == []
    assert obj == server.get(WIDGET, "w")


def test_what_json_cannot_hold_is_refused_with_its_path() -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    with pytest.raises(InvalidObject, match=r"status\.phase: expected"):
        run(mutate_status(api, obj, phase(object())))
    assert wire.calls == []
    assert obj == server.get(WIDGET, "w")


def test_what_was_changed_before_the_call_is_not_sent() -> None:
    """It is on both sides of the difference: make all changes in the function."""
    server = cluster(phase="Pending")
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    obj["status"]["early"] = True
    run(mutate_status(api, obj, phase("Ready")))
    assert wire.bodies[0]["status"] == {"phase": "Ready"}
    assert obj["status"] == {"phase": "Ready"}


# Without the lock: ToolHive's contract, word for word


def test_unlocked_disjoint_writers_survive_a_stale_snapshot() -> None:
    server = cluster()
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"status": {"phase": "Ready", "message": "up"}}, subresource="status")
    run(mutate_status(api, stale, lambda obj: obj["status"].update(url="http://w"), lock=False))
    assert wire.bodies == [{"status": {"url": "http://w"}}]
    assert server.get(WIDGET, "w")["status"] == {"phase": "Ready", "message": "up", "url": "http://w"}
    assert stale == server.get(WIDGET, "w")


def test_unlocked_a_re_assigned_value_is_a_no_op() -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"status": {"phase": "Ready"}}, subresource="status")
    run(mutate_status(api, stale, lambda obj: obj["status"].update(phase="Pending", url="http://w"), lock=False))
    assert wire.bodies == [{"status": {"url": "http://w"}}]
    assert server.get(WIDGET, "w")["status"]["phase"] == "Ready"


def test_unlocked_a_stale_computed_scalar_wins() -> None:
    server = cluster(phase="Pending")
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"status": {"phase": "Ready"}}, subresource="status")
    run(mutate_status(api, stale, phase("Failed"), lock=False))
    assert wire.bodies == [{"status": {"phase": "Failed"}}]
    assert server.get(WIDGET, "w")["status"]["phase"] == "Failed"


def test_unlocked_a_stale_conditions_array_erases_the_conditions_of_others() -> None:
    server = cluster(conditions=[FOO])
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"status": {"conditions": [FOO, BAR]}}, subresource="status")
    changed = {**FOO, "reason": "Promoted"}
    run(mutate_status(api, stale, lambda obj: obj["status"].update(conditions=[changed]), lock=False))
    assert wire.bodies == [{"status": {"conditions": [changed]}}]
    assert server.get(WIDGET, "w")["status"]["conditions"] == [changed]


def test_locked_none_of_that_can_happen() -> None:
    for stale_write in (phase("Failed"), lambda obj: obj["status"].update(conditions=[FOO])):
        server = cluster(phase="Pending")
        api, _ = wired(server)
        stale = server.get(WIDGET, "w")
        server.patch(WIDGET, "w", {"status": {"phase": "Ready", "conditions": [BAR]}}, subresource="status")
        with pytest.raises(Conflict):
            run(mutate_status(api, stale, stale_write))
        assert server.get(WIDGET, "w")["status"] == {"phase": "Ready", "conditions": [BAR]}


# The algebra

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
)
STATUSES = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(before=STATUSES, after=STATUSES)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_what_is_stored_is_what_the_mutation_made(before: dict[str, Any], after: dict[str, Any]) -> None:
    server = cluster(**without_nulls(before))
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(mutate_status(api, obj, lambda fresh: fresh.update(status=copy_json(after))))
    stored = server.get(WIDGET, "w")
    assert without_nulls(stored.get("status") or {}) == without_nulls(after)
    assert obj == stored
    assert len(wire.calls) <= 1


def test_a_missing_field_set_to_none_deep_in_the_status_is_no_change() -> None:
    server = cluster(nested={"kept": {"a": 1}})
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    assert not run(mutate_status(api, obj, lambda fresh: fresh["status"]["nested"]["kept"].update(gone=None)))
    assert wire.calls == []
