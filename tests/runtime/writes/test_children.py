"""A tracked child: every branch, every stale view, every crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, deployment, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import AlreadyExists, Conflict, Invalid, NotFound, Timeout, WrongObject
from kontend.kube.meta.accessors import is_controlled_by
from kontend.runtime.client.api import Api
from kontend.runtime.guards import Guards
from kontend.runtime.writes.children import ChildOutcome, ForeignChild, remove_child, sync_child
from kontend.runtime.writes.owners import owner_reference
from kontend.runtime.writes.scope import NotStored, StaleObject, StatusScope
from runtime.wire import Crash, Fault, Wire, run, wired

CHILD = "Deployment.apps/v1"


def desired(name: str = "d", *, image: str = "app:1", replicas: int = 2) -> dict[str, Any]:
    child = deployment(name)
    child["spec"]["replicas"] = replicas
    child["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return child


def cluster(**fields: Any) -> Cluster:
    return Cluster(crds=[definition()], objects=[widget(spec={"size": 1}, **fields)])


def parent(server: Cluster) -> dict[str, Any]:
    return server.get(WIDGET, "w")


def child(server: Cluster, name: str = "d") -> dict[str, Any] | None:
    try:
        return server.get(CHILD, name)
    except NotFound:
        return None


def uid(server: Cluster, name: str = "d") -> str:
    obj = child(server, name)
    assert obj is not None
    return str(obj["metadata"]["uid"])


def tracking(server: Cluster) -> Any:
    return (parent(server).get("status") or {}).get("child")


def synced(server: Cluster, **options: Any) -> ChildOutcome:
    """One sync by a fresh process with a fresh view."""
    api, _ = wired(server)
    wanted = options.pop("desired", None) or desired()
    return run(sync_child(api, parent(server), wanted, **options))


def made_uids(server: Cluster, since: str, name: str = "d") -> list[str]:
    """The uids of all children of that name made since a version, in order."""
    events = server.watch(CHILD, since=since)
    added = [event["object"]["metadata"] for event in events if event["type"] == "ADDED"]
    return [metadata["uid"] for metadata in added if metadata["name"] == name]


def deleted_uids(server: Cluster, since: str) -> list[str]:
    events = server.watch(CHILD, since=since)
    return [event["object"]["metadata"]["uid"] for event in events if event["type"] == "DELETED"]


def control(server: Cluster, other: str, name: str = "d") -> None:
    """Make another widget the controller of the child."""
    reference = owner_reference(server.get(WIDGET, other), controller=True)
    server.patch(CHILD, name, {"metadata": {"ownerReferences": [reference]}})


def forge(server: Cluster, tracked: str, name: str = "d") -> None:
    """Let the parent's status track a uid."""
    server.patch(WIDGET, "w", {"status": {"child": {"name": name, "uid": tracked}}}, subresource="status")


# Every branch


def test_a_child_is_created_controlled_and_tracked() -> None:
    server = cluster()
    outcome = synced(server)
    assert outcome.action == "created"
    assert outcome.child == child(server)
    assert tracking(server) == {"name": "d", "uid": uid(server)}
    assert is_controlled_by(server.get(CHILD, "d"), parent(server))


def test_the_steady_state_is_one_call_that_changes_nothing() -> None:
    server = cluster()
    synced(server)
    before = server.resource_version
    api, wire = wired(server)
    outcome = run(sync_child(api, parent(server), desired()))
    assert (outcome.action, outcome.settled, outcome.result) == ("applied", True, None)
    assert server.resource_version == before
    (call,) = wire.calls
    assert (call.verb, call.content_type) == ("patch", "application/apply-patch+yaml")
    assert wire.bodies[0]["metadata"]["uid"] == uid(server)


def test_a_change_is_applied_and_leaves_defaults_and_the_fields_of_others() -> None:
    server = cluster()
    synced(server)
    server.patch(CHILD, "d", {"metadata": {"annotations": {"theirs": "1"}}, "spec": {"minReadySeconds": 7}})
    synced(server, desired=desired(image="app:2"))
    after = server.get(CHILD, "d")
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "app:2"
    assert (after["metadata"]["annotations"]["theirs"], after["spec"]["minReadySeconds"]) == ("1", 7)
    assert after["spec"]["progressDeadlineSeconds"] == 600


def test_what_is_no_longer_desired_is_removed() -> None:
    server = cluster()
    labelled = desired()
    labelled["metadata"]["labels"] = {"a": "b"}
    synced(server, desired=labelled)
    synced(server)
    assert "labels" not in server.get(CHILD, "d")["metadata"]


def test_a_change_from_outside_is_put_right() -> None:
    server = cluster()
    synced(server)
    server.patch(CHILD, "d", {"spec": {"replicas": 9}})
    synced(server)
    assert server.get(CHILD, "d")["spec"]["replicas"] == 2


def test_pause_takes_the_replicas_away_and_gives_them_back() -> None:
    server = cluster()
    first = synced(server).child or {}
    synced(server, paused=True)
    assert server.get(CHILD, "d")["spec"]["replicas"] == 0
    synced(server)
    assert server.get(CHILD, "d")["spec"]["replicas"] == 2
    assert uid(server) == first["metadata"]["uid"]


def test_what_has_no_replicas_cannot_be_paused() -> None:
    server = cluster()
    wanted = deployment()
    with pytest.raises(WrongObject, match=r"desired must have spec\.replicas"):
        synced(server, desired=wanted, paused=True)
    assert child(server) is None


def test_a_missing_child_is_made_again() -> None:
    server = cluster()
    synced(server)
    former = uid(server)
    server.delete(CHILD, "d")
    assert synced(server).action == "recreated"
    assert uid(server) != former
    assert tracking(server)["uid"] == uid(server)


def test_a_child_without_a_controller_is_adopted() -> None:
    server = cluster()
    server.create(desired(image="theirs"))
    former = uid(server)
    assert synced(server).action == "adopted"
    assert (uid(server), tracking(server)["uid"]) == (former, former)
    assert is_controlled_by(server.get(CHILD, "d"), parent(server))


def test_a_child_of_the_parent_that_is_not_tracked_is_tracked() -> None:
    server = cluster()
    synced(server)
    former = uid(server)
    server.patch(WIDGET, "w", {"status": {"child": None}}, subresource="status")
    assert synced(server).action == "tracked"
    assert (uid(server), tracking(server)["uid"]) == (former, former)


def test_a_child_recreated_outside_with_its_owner_is_the_parents() -> None:
    server = cluster()
    synced(server)
    server.delete(CHILD, "d")
    again = desired()
    again["metadata"]["ownerReferences"] = [owner_reference(parent(server), controller=True)]
    server.create(again)
    since, theirs = server.resource_version, uid(server)
    assert synced(server).action == "tracked"
    assert tracking(server)["uid"] == uid(server) == theirs
    assert deleted_uids(server, since) == []


def test_a_child_of_another_controller_is_not_changed() -> None:
    server = cluster()
    server.create(widget("other"))
    server.create(desired(image="theirs"))
    control(server, "other")
    before = server.resource_version
    for _ in range(2):
        with pytest.raises(ForeignChild, match="controlled by Widget 'other'") as refused:
            synced(server)
        forge(server, "no such uid")
        assert (refused.value.controller or {})["name"] == "other"
    assert server.get(CHILD, "d")["metadata"]["resourceVersion"] == before


def test_a_tracked_child_with_another_controller_is_not_changed() -> None:
    server = cluster()
    server.create(widget("other"))
    synced(server)
    control(server, "other")
    before = server.get(CHILD, "d")
    with pytest.raises(ForeignChild):
        synced(server, desired=desired(image="app:2"))
    assert server.get(CHILD, "d") == before


def test_a_tracked_child_that_was_released_is_taken_back() -> None:
    server = cluster()
    synced(server)
    server.patch(CHILD, "d", {"metadata": {"ownerReferences": None}})
    assert synced(server).action == "applied"
    assert is_controlled_by(server.get(CHILD, "d"), parent(server))


def impostor(server: Cluster) -> str:
    synced(server)
    server.delete(CHILD, "d")
    server.create(desired(image="impostor"))
    return uid(server)


def test_an_impostor_is_deleted_by_uid_and_version_and_made_anew_by_the_next_call() -> None:
    server = cluster()
    theirs = impostor(server)
    version = server.get(CHILD, "d")["metadata"]["resourceVersion"]
    api, wire = wired(server, guards=Guards(delete_preconditions=False))
    outcome = run(sync_child(api, parent(server), desired()))
    assert (outcome.action, outcome.settled, outcome.child) == ("replacing", False, None)
    assert outcome.result is not None
    assert child(server) is None
    assert tracking(server) is None
    (delete,) = [body for call, body in zip(wire.writes, wire.bodies, strict=True) if call.verb == "delete"]
    assert delete == {"preconditions": {"uid": theirs, "resourceVersion": version}}
    assert synced(server).action == "created"
    assert tracking(server)["uid"] == uid(server) != theirs


def test_an_impostor_can_be_adopted_or_refused_instead() -> None:
    server = cluster()
    theirs = impostor(server)
    with pytest.raises(ForeignChild, match="not the tracked child"):
        synced(server, impostor="refuse")
    assert synced(server, impostor="adopt").action == "adopted"
    assert tracking(server)["uid"] == uid(server) == theirs


def test_a_child_on_its_way_out_is_waited_for() -> None:
    server = cluster()
    synced(server)
    server.patch(CHILD, "d", {"metadata": {"finalizers": ["example.com/f"]}})
    server.delete(CHILD, "d")
    former = uid(server)
    for tracked in (former, "another"):
        forge(server, tracked)
        outcome = synced(server)
        assert (outcome.action, outcome.settled) == ("terminating", False)
        assert outcome.result is not None
    server.patch(CHILD, "d", {"metadata": {"finalizers": None}})
    assert synced(server).action == "recreated"
    assert uid(server) != former


def test_a_child_that_gets_another_name_is_removed_under_the_old_one_first() -> None:
    server = cluster()
    synced(server)
    assert synced(server, desired=desired("e")).action == "removing"
    assert (child(server), child(server, "e")) == (None, None)
    assert synced(server, desired=desired("e")).action == "created"
    assert tracking(server) == {"name": "e", "uid": uid(server, "e")}


def test_nothing_is_made_for_a_parent_that_is_being_deleted() -> None:
    server = cluster(metadata={"finalizers": ["example.com/f"]})
    server.delete(WIDGET, "w")
    assert synced(server).action == "skipped"
    assert child(server) is None


def test_the_outcome_knows_whether_the_childs_status_is_about_what_was_applied() -> None:
    server = cluster()
    assert not synced(server).observed
    server.patch(CHILD, "d", {"status": {"observedGeneration": 1}}, subresource="status")
    assert synced(server).observed
    assert not synced(server, desired=desired(image="app:2")).observed


@pytest.mark.parametrize("action", ["terminating", "removing", "skipped"])
def test_the_status_of_a_child_that_is_not_settled_is_about_nothing(action: Any) -> None:
    observed = {"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}
    assert ChildOutcome("applied", observed).observed
    assert not ChildOutcome(action, observed).observed
    assert not ChildOutcome("applied").observed


def test_a_cluster_scoped_child_of_a_namespaced_parent_is_refused() -> None:
    """The garbage collector would not find its owner, and delete it."""
    server = cluster()
    api, wire = wired(server)
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    with pytest.raises(WrongObject, match="cannot own an object in no namespace"):
        run(sync_child(api, parent(server), role))
    assert wire.calls == []


def test_a_child_can_be_of_any_kind_and_tracked_anywhere() -> None:
    server = cluster()
    api, _ = wired(server)
    obj = parent(server)
    run(sync_child(api, obj, config_map("c", data={"a": "1"}), field="children.config"))
    run(sync_child(api, obj, desired(), field="children.web"))
    names = {name: tracked["name"] for name, tracked in parent(server)["status"]["children"].items()}
    assert names == {"config": "c", "web": "d"}


# Removing


def test_a_removed_child_is_deleted_and_then_forgotten() -> None:
    server = cluster()
    synced(server)
    api, wire = wired(server)
    version = server.get(CHILD, "d")["metadata"]["resourceVersion"]
    preconditions = {"uid": uid(server), "resourceVersion": version}
    assert run(remove_child(api, parent(server), desired())).action == "removing"
    assert wire.bodies == [{"preconditions": preconditions}]
    assert run(remove_child(api, parent(server), desired())).action == "removed"
    assert tracking(server) is None
    assert run(remove_child(api, parent(server), desired())).action == "removed"


def test_a_child_that_is_not_tracked_is_removed_if_it_is_the_parents() -> None:
    server = cluster()
    synced(server)
    server.patch(WIDGET, "w", {"status": {"child": None}}, subresource="status")
    api, _ = wired(server)
    assert run(remove_child(api, parent(server), desired())).action == "removing"
    assert child(server) is None


def test_a_child_that_the_parent_does_not_control_any_more_is_left_alone() -> None:
    server = cluster()
    synced(server)
    server.patch(CHILD, "d", {"metadata": {"ownerReferences": None}})
    api, _ = wired(server)
    assert run(remove_child(api, parent(server), desired())).action == "released"
    assert child(server) is not None
    assert tracking(server) is None


# Stale views and races: none of the residual faults


def test_r1_a_refused_flush_after_a_recreate_does_not_cost_the_new_child() -> None:
    server = cluster()
    synced(server)
    server.delete(CHILD, "d")
    since = server.resource_version
    wake = {4: lambda: server.patch(WIDGET, "w", {"status": {"foreign": 1}}, subresource="status")}
    api, wire = wired(server, at=wake)
    with pytest.raises(Conflict):
        run(sync_child(api, parent(server), desired()))
    assert wire.calls[4].subresource == "status"
    made = uid(server)
    assert synced(server).action == "tracked"
    assert tracking(server)["uid"] == uid(server) == made
    assert deleted_uids(server, since) == []


def test_r2_an_error_after_the_sync_does_not_lose_the_tracking() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, parent(server)) as scope:
            await sync_child(api, scope, desired())
            raise ValueError("peers")

    server = cluster()
    since = server.resource_version
    for _ in range(3):
        api, _ = wired(server)
        with pytest.raises(ValueError, match="peers"):
            run(reconcile())
        assert tracking(server)["uid"] == uid(server)
    assert len(made_uids(server, since)) == 1


@pytest.mark.parametrize("tracked", ["former", "nothing"])
def test_r3_a_stale_parent_never_deletes_a_fresh_child(tracked: str) -> None:
    server = cluster()
    if tracked == "former":
        synced(server)
        server.delete(CHILD, "d")
    stale = parent(server)
    synced(server)
    fresh, since = uid(server), server.resource_version
    api, wire = wired(server)
    with pytest.raises(Conflict):
        run(sync_child(api, stale, desired()))
    assert [call.verb for call in wire.writes if call.verb == "delete"] == []
    assert (uid(server), tracking(server)["uid"]) == (fresh, fresh)
    assert deleted_uids(server, since) == []


def test_r3_a_stale_parent_does_not_delete_what_looks_like_an_impostor() -> None:
    server = cluster()
    theirs = impostor(server)
    stale = parent(server)
    forge(server, theirs)
    api, _ = wired(server)
    with pytest.raises(StaleObject, match="nothing was done for it"):
        run(sync_child(api, stale, desired()))
    assert uid(server) == theirs


def test_a_stale_parent_creates_and_removes_nothing() -> None:
    server = cluster()
    stale = parent(server)
    server.patch(WIDGET, "w", {"spec": {"size": 0}})
    api, _ = wired(server)
    with pytest.raises(StaleObject):
        run(sync_child(api, stale, desired()))
    assert child(server) is None
    synced(server)
    with pytest.raises(StaleObject):
        run(remove_child(api, stale, desired()))
    assert child(server) is not None


def test_a_parent_that_is_gone_or_another_one_gets_no_child() -> None:
    server = cluster()
    former = parent(server)
    server.delete(WIDGET, "w")
    api, _ = wired(server)
    with pytest.raises(StaleObject, match="is gone on the server"):
        run(sync_child(api, former, desired()))
    server.create(widget())
    with pytest.raises(StaleObject):
        run(sync_child(api, former, desired()))
    assert child(server) is None


def test_the_child_of_a_parent_made_again_under_the_name_is_not_taken() -> None:
    server = cluster()
    former = parent(server)
    server.delete(WIDGET, "w")
    server.create(widget())
    synced(server)
    api, _ = wired(server)
    with pytest.raises(ForeignChild):
        run(sync_child(api, former, desired()))
    with pytest.raises(Conflict):
        run(remove_child(api, {**former, "status": {"child": {"name": "d", "uid": "x"}}}, desired()))
    assert is_controlled_by(server.get(CHILD, "d"), parent(server))


def test_r4_a_child_made_anew_between_the_look_and_the_delete_is_not_deleted() -> None:
    def swap() -> None:
        server.delete(CHILD, "d")
        server.create(desired(image="fresh"))

    server = cluster()
    impostor(server)
    api, wire = wired(server, at={3: swap})
    with pytest.raises(Conflict):
        run(sync_child(api, parent(server), desired()))
    assert wire.calls[3].verb == "delete"
    assert server.get(CHILD, "d")["spec"]["template"]["spec"]["containers"][0]["image"] == "fresh"


def test_r4_an_impostor_that_was_changed_since_the_look_is_not_deleted() -> None:
    server = cluster()
    theirs = impostor(server)
    server.create(widget("other"))
    api, _ = wired(server, at={3: lambda: control(server, "other")})
    with pytest.raises(Conflict):
        run(sync_child(api, parent(server), desired()))
    assert uid(server) == theirs


def test_r5_a_child_that_gets_a_controller_between_the_look_and_the_takeover_is_not_taken() -> None:
    for moment in (1, 2):
        server = cluster()
        server.create(desired(image="theirs"))
        server.create(widget("other"))
        api, _ = wired(server, at={moment: partial(control, server, "other")})
        with pytest.raises(Conflict):
            run(sync_child(api, parent(server), desired()))
        assert server.get(CHILD, "d")["spec"]["template"]["spec"]["containers"][0]["image"] == "theirs"
        assert tracking(server) is None


def test_r5_a_foreign_child_that_appears_just_before_the_create_is_refused_by_the_server() -> None:
    def appear() -> None:
        server.create(widget("other"))
        server.create(desired(image="theirs"))
        control(server, "other")

    server = cluster()
    api, wire = wired(server, at={2: appear})
    with pytest.raises(Invalid, match="Only one reference can have Controller set to true"):
        run(sync_child(api, parent(server), desired()))
    assert wire.calls[2].verb == "patch"
    assert tracking(server) is None


def test_a_lagging_cache_of_children_does_not_matter() -> None:
    server = cluster()
    api, wire = wired(server)
    wire.inner.lag(CHILD)
    obj = parent(server)
    for _ in range(3):
        run(sync_child(api, obj, desired()))
    assert not any(call.cached for call in wire.calls)
    assert tracking(server)["uid"] == uid(server)


# In a scope


def test_in_a_scope_what_was_changed_in_the_status_is_stored_with_the_tracking() -> None:
    async def reconcile() -> None:
        async with StatusScope(api, obj) as scope:
            scope.status["phase"] = "Starting"
            outcome = await sync_child(api, scope, desired())
            scope.set_condition("Ready", outcome.observed, "ChildApplied")

    server = cluster()
    api, wire = wired(server)
    obj = parent(server)
    run(reconcile())
    flushes = [body["status"] for call, body in zip(wire.writes, wire.bodies, strict=True) if call.subresource]
    assert [sorted(flush) for flush in flushes] == [["child", "phase"], ["conditions"]]
    assert obj == parent(server)
    api, wire = wired(server)
    run(reconcile())
    assert [call.subresource for call in wire.calls] == [""]


# What is refused at once


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (None, "expected a child"),
        ({}, "expected a child"),
        ({"metadata": {"name": "d"}}, "no apiVersion or kind"),
        ({**deployment(), "metadata": {"name": "d", "uid": "u"}}, r"desired has metadata\.uid"),
        ({**deployment(), "metadata": {"name": "d", "resourceVersion": "1"}}, r"desired has metadata\.resourceVersion"),
        ({**deployment(), "metadata": {"name": "d", "managedFields": []}}, r"desired has metadata\.managedFields"),
        (
            {**deployment(), "metadata": {"name": "d", "namespace": "other"}},
            "cannot own an object in namespace 'other'",
        ),
    ],
)
def test_a_wrong_child_is_refused_before_anything_is_sent(wanted: Any, complaint: str) -> None:
    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match=complaint):
        run(sync_child(api, parent(server), wanted))
    assert wire.calls == []


@pytest.mark.parametrize("options", [{"field": ""}, {"field": "a..b"}, {"field": None}, {"impostor": "kill"}])
def test_wrong_options_are_refused_before_anything_is_sent(options: Any) -> None:
    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match="expected"):
        run(sync_child(api, parent(server), desired(), **options))
    assert wire.calls == []


@pytest.mark.parametrize("garbage", ["d", {"name": "d"}, {"name": 1, "uid": 2}, []])
def test_garbage_in_the_place_of_the_tracking_is_a_clear_error(garbage: Any) -> None:
    server = cluster(status={"child": garbage})
    with pytest.raises(WrongObject, match=r"status\.child: expected the name and uid of a child"):
        synced(server)
    assert child(server) is None


def test_a_schema_that_drops_the_tracking_is_a_clear_error() -> None:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object"}}}}
    server = Cluster(crds=[definition(schema=schema)], objects=[widget()])
    with pytest.raises(NotStored, match=r"status\.child"):
        synced(server)


# Every crash


def _nothing(_: Cluster) -> None:
    """There is no child."""


def _untracked(server: Cluster) -> None:
    """There is one without a controller."""
    server.create(desired(image="theirs"))


def _lost_tracking(server: Cluster) -> None:
    """There is the parent's own, but the status does not say so."""
    synced(server)
    server.patch(WIDGET, "w", {"status": {"child": None}}, subresource="status")


def _forged(server: Cluster) -> None:
    """There is the parent's own, but the status names another."""
    synced(server)
    forge(server, "forged")


def _missing(server: Cluster) -> None:
    synced(server)
    server.delete(CHILD, "d")


def _impostor(server: Cluster) -> None:
    impostor(server)


def _old_image(server: Cluster) -> None:
    synced(server, desired=desired(image="app:0"))


def _renamed(server: Cluster) -> None:
    synced(server, desired=desired("old"))


#: A situation, how many children are made from it and how many deleted: never one more, whatever crashes.
SITUATIONS: list[tuple[Callable[[Cluster], None], int, int]] = [
    (_nothing, 1, 0),
    (_untracked, 0, 0),
    (_lost_tracking, 0, 0),
    (_forged, 0, 0),
    (_missing, 1, 0),
    (_impostor, 1, 1),
    (_old_image, 0, 0),
    (_renamed, 1, 1),
]
FAULTS = [
    Fault(Crash()),
    Fault(Crash(), committed=True),
    Fault(Timeout("lost")),
    Fault(Timeout("lost"), committed=True),
    Fault(Conflict("injected")),
]


async def _reconcile(api: Api) -> ChildOutcome:
    """A whole reconcile: it reads, syncs, and reports in a scope."""
    obj = await api.get(WIDGET, "default/w")
    async with StatusScope(api, obj) as scope:
        outcome = await sync_child(api, scope, desired())
        scope.set_condition("Ready", outcome.settled, "Synced")
        return outcome


def _settle(server: Cluster, at: dict[int, Fault] | None = None) -> Wire:
    """Reconcile until settled; a crash or an error starts over with a fresh process. The faults hit the first one."""
    api, first = wired(server, at=at)
    for _ in range(8):
        try:
            if run(_reconcile(api)).settled:
                return first
        except (Crash, Timeout, Conflict, AlreadyExists):
            api, _ = wired(server)
    raise AssertionError("does not settle")


def _starts(situation: Callable[[Cluster], None]) -> Iterator[tuple[Cluster, int]]:
    """A fork of the situation for each call of an unperturbed run."""
    server = cluster()
    situation(server)
    calls = len(_settle(server.fork()).calls)
    assert calls > 1
    for n in range(calls):
        yield server.fork(), n


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{type(fault.error).__name__}-{fault.committed}")
@pytest.mark.parametrize(("situation", "made", "deleted"), SITUATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_whatever_call_fails_the_child_is_one_tracked_and_never_made_twice(
    situation: Callable[[Cluster], None], made: int, deleted: int, fault: Fault
) -> None:
    for server, n in _starts(situation):
        since = server.resource_version
        _settle(server, {n: fault})
        assert_sound(server, since, made, deleted)


@pytest.mark.parametrize(("situation", "made", "deleted"), SITUATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_two_crashes_in_a_row_are_survived_as_well(
    situation: Callable[[Cluster], None], made: int, deleted: int
) -> None:
    for start, n in _starts(situation):
        for m in count():
            server = start.fork()
            since = server.resource_version
            api, _ = wired(server, at={n: Fault(Crash(), committed=True)})
            with suppress(Crash):
                while True:
                    run(_reconcile(api))
            wire = _settle(server, {m: Fault(Crash(), committed=True)})
            assert_sound(server, since, made, deleted)
            if m >= len(wire.calls):
                break


@pytest.mark.parametrize(("situation", "made", "deleted"), SITUATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_whenever_a_second_process_reconciles_in_between_nothing_is_made_twice(
    situation: Callable[[Cluster], None], made: int, deleted: int
) -> None:
    """Two leaders: the other one runs as a whole before any call of ours."""
    for server, n in _starts(situation):
        since = server.resource_version
        rival, _ = wired(server, name="b")

        def interfere(rival: Api = rival) -> None:
            run(_reconcile(rival))

        api, _ = wired(server, at={n: interfere})
        with suppress(Conflict):
            run(_reconcile(api))
        _settle(server)
        assert_sound(server, since, made, deleted)


def assert_sound(server: Cluster, since: str, made: int, deleted: int) -> None:
    """One child, tracked, controlled, as desired, and the history has no child made or deleted in vain."""
    obj = server.get(CHILD, "d")
    assert tracking(server) == {"name": "d", "uid": obj["metadata"]["uid"]}
    assert is_controlled_by(obj, parent(server))
    assert obj["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"
    assert len(made_uids(server, since)) == made
    assert len(deleted_uids(server, since)) == deleted
    before = server.resource_version
    _settle(server)
    assert server.resource_version == before
