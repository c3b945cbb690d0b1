"""Writes that undo those of others are found in a log, and correct ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explanation.wording import sentence as sentence_of
from race.logs import CONFIG_MAPS, WIDGETS, Client, Log, sentence

C = f"{CONFIG_MAPS}/c"
W = f"{WIDGETS}/w"


@pytest.fixture
def log() -> Log:
    """A log in which a user has created a ConfigMap and a Widget."""
    log = Log()
    user = log.user()
    user.create(CONFIG_MAPS, "c", data={"next": "8000", "other": "1"})
    user.create(WIDGETS, "w", spec={"size": 1})
    log.wait(60)
    return log


def replicas(log: Log) -> tuple[Client, Client]:
    """Two pods of one operator."""
    return log.client("ports", address="10.0.0.1"), log.client("ports", address="10.0.0.2")


# Lost updates


def test_two_replicas_that_read_the_same_version_lose_an_update(log: Log, tmp_path: Path) -> None:
    """Both read 8000; the second write undoes the first."""
    one, two = replicas(log)
    base = one.get(C)["metadata"]["resourceVersion"]
    two.get(C)
    first = one.patch(C, {"data": {"next": "8001"}})["metadata"]["resourceVersion"]
    two.patch(C, {"data": {"next": "8002"}})
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "lost update"
    assert sentence(finding) == (
        f'ports wrote data.next = "8002" to ConfigMap default/c from resourceVersion {base}; ports had changed it to '
        f'"8001" at resourceVersion {first}, and the server accepted the write without a conflict'
    )
    assert [moment.line for moment in finding.culprits] == [5, 6]
    assert "resourceVersion" in sentence_of(finding.fix)


def test_replicas_are_told_apart_by_the_name_of_their_pod(log: Log, tmp_path: Path) -> None:
    """The token of a pod has its name, whatever address the request comes from."""
    extra = "authentication.kubernetes.io/pod-name"
    one = log.client("ports", extra={extra: ["ports-a"]})
    two = log.client("ports", extra={extra: ["ports-b"]})
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.patch(C, {"data": {"next": "8002"}})
    (finding,) = log.judged(tmp_path).findings
    assert [actor.name for actor in finding.actors] == ["ports-b", "ports-a"]


def test_a_locked_patch_loses_nothing(log: Log, tmp_path: Path) -> None:
    """The server refuses the second one, and the client reads again."""
    one, two = replicas(log)
    version = one.get(C)["metadata"]["resourceVersion"]
    two.get(C)
    one.patch(C, {"metadata": {"resourceVersion": version}, "data": {"next": "8001"}})
    refused = two.patch(C, {"metadata": {"resourceVersion": version}, "data": {"next": "8001"}})
    assert refused["code"] == 409
    fresh = two.get(C)["metadata"]["resourceVersion"]
    two.patch(C, {"metadata": {"resourceVersion": fresh}, "data": {"next": "8002"}})
    assert log.found(tmp_path) == []


def test_a_client_that_reads_again_before_it_writes_loses_nothing(log: Log, tmp_path: Path) -> None:
    """Without a lock, but with the newest version in hand."""
    one, two = replicas(log)
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.get(C)
    two.patch(C, {"data": {"next": "8002"}})
    assert log.found(tmp_path) == []


def test_other_fields_of_the_same_object_are_nobodys_loss(log: Log, tmp_path: Path) -> None:
    """Both wrote from the same version, to different keys."""
    one, two = replicas(log)
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.patch(C, {"data": {"other": "2"}})
    assert log.found(tmp_path) == []


def test_a_spec_and_a_status_have_different_writers(log: Log, tmp_path: Path) -> None:
    """A user changes the spec while a controller writes the status from an older version."""
    controller, user = log.client("widgets"), log.user()
    controller.get(W)
    user.patch(W, {"spec": {"size": 2}})
    controller.patch(f"{W}/status", {"status": {"size": 1}})
    assert log.found(tmp_path) == []


def test_a_controller_that_overwrites_a_users_edit_is_reported(log: Log, tmp_path: Path) -> None:
    """The edit came between its read and its write."""
    controller, user = log.client("widgets"), log.user()
    controller.get(W)
    user.patch(W, {"spec": {"size": 3}})
    controller.patch(W, {"spec": {"size": 2}})
    assert log.found(tmp_path) == ["lost update"]


def test_what_a_person_does_with_kubectl_is_deliberate(log: Log, tmp_path: Path) -> None:
    """A user edits for a minute, and types a value of their own."""
    controller, user = log.client("widgets"), log.user()
    user.get(W)
    controller.patch(W, {"spec": {"size": 2}})
    log.wait(60)
    user.patch(W, {"spec": {"size": 7}})
    assert log.found(tmp_path) == []


def test_a_file_that_is_older_than_the_object_drops_the_field_of_another_manager(log: Log, tmp_path: Path) -> None:
    """kubectl replace sends the newest version with the old content, under the user and agent of the other manager."""
    user = log.user()
    old = user.get(C)
    user.patch(C, {"data": {"added": "x"}}, fieldManager="kubectl-patch")
    log.wait(100)
    user.send("PUT", C, {**old, "metadata": {**user.get(C)["metadata"]}}, fieldManager="kubectl-replace")
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "stale write"
    assert sentence(finding).startswith("ann (kubectl) as kubectl-replace removed data.added of ConfigMap default/c")


def test_a_file_with_another_value_than_before_is_deliberate(log: Log, tmp_path: Path) -> None:
    """The person has decided on a value that nobody had set."""
    user = log.user()
    manager = log.client("manager")
    manager.get(C)
    manager.patch(C, {"data": {"next": "8001"}})
    fresh = user.get(C)
    user.put(C, {**fresh, "data": {**fresh["data"], "next": "9000"}})
    assert log.found(tmp_path) == []


def test_a_program_may_restore_a_value_with_a_lock(log: Log, tmp_path: Path) -> None:
    """It has read the change, and undoes it on purpose."""
    manager, other = log.client("manager"), log.client("other")
    other.get(C)
    other.patch(C, {"data": {"next": "8001"}})
    fresh = manager.get(C)
    manager.put(C, {**fresh, "data": {**fresh["data"], "next": "8000"}})
    assert log.found(tmp_path) == []


@pytest.mark.parametrize("level", ["Metadata", "Request"])
def test_writes_without_their_objects_are_suspected(log: Log, tmp_path: Path, level: str) -> None:
    """Two clients wrote one object within a minute; the log does not show whether one undid the other."""
    log.level = level
    one, two = replicas(log)
    one.patch(C, {"data": {"next": "8001"}})
    two.patch(C, {"data": {"next": "8002"}})
    one.patch(W, {"spec": {"size": 2}})
    assert log.judged(tmp_path).unseen == 1


def test_an_event_that_is_delivered_twice_counts_once(log: Log, tmp_path: Path) -> None:
    """Shippers deliver at least once."""
    one, two = replicas(log)
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.patch(C, {"data": {"next": "8002"}})
    log.events = [event for event in log.events for _ in range(2)]
    result = log.judged(tmp_path)
    assert (result.judged, [len(finding.moments) for finding in result.findings]) == (4, [4])


def test_an_element_of_a_list_vanishes(log: Log, tmp_path: Path) -> None:
    """A merge patch replaces the list of conditions, with that of another controller in it."""
    one, two = log.client("one"), log.client("two")
    one.get(W)
    two.get(W)
    one.patch(f"{W}/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}})
    two.patch(f"{W}/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}})
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "vanished element"
    assert "without type=A" in sentence(finding)
    assert "list" in sentence_of(finding.fix)


def test_requests_that_cross_lose_an_update_although_their_clients_watch(log: Log, tmp_path: Path) -> None:
    """The second request had arrived before the first was stored, so its client cannot have seen that."""
    one, two = replicas(log)
    for client in (one, two):
        client.list(CONFIG_MAPS)
        client.watch(CONFIG_MAPS)
    log.wait(10)
    arrived = log.now
    one.patch(C, {"data": {"next": "8001"}})
    log.now = arrived + 0.001
    two.patch(C, {"data": {"next": "8002"}})
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "lost update"
    assert "while that write was under way" in sentence(finding)


def test_a_client_that_watches_may_have_seen_the_change(log: Log, tmp_path: Path) -> None:
    """A second controller takes over where the first has left off. With --lag it is a suspicion."""
    one, two = log.client("provision"), log.client("start")
    for client in (one, two):
        client.list(WIDGETS)
        client.watch(WIDGETS)
    one.patch(f"{W}/status", {"status": {"phase": "Provisioned"}})
    log.wait(0.02)
    two.patch(f"{W}/status", {"status": {"phase": "Started"}})
    result = log.judged(tmp_path)
    assert result.findings == []
    assert result.doubtful == 1
    assert log.found(tmp_path, lag=0.05) == ["blind overwrite"]


def test_a_client_that_lists_and_does_not_watch_writes_from_its_list(log: Log, tmp_path: Path) -> None:
    """The log shows the watches of others, so it would show one of this client."""
    other, poller = log.client("other"), log.client("poller")
    other.watch(CONFIG_MAPS)
    poller.list(CONFIG_MAPS)
    log.wait(5)
    other.patch(C, {"data": {"next": "8001"}})
    log.wait(5)
    poller.patch(C, {"data": {"next": "8002"}})
    assert log.found(tmp_path) == ["lost update"]


def test_a_new_leader_has_listed_what_the_old_one_wrote(log: Log, tmp_path: Path) -> None:
    """It goes on from there, without a lock."""
    old, new = replicas(log)
    old.list(WIDGETS)
    old.watch(WIDGETS)
    old.patch(f"{W}/status", {"status": {"phase": "A"}})
    log.wait(0.5)
    new.list(WIDGETS)
    new.watch(WIDGETS)
    new.patch(f"{W}/status", {"status": {"phase": "B"}})
    assert log.found(tmp_path) == []


def test_writes_that_are_logged_in_the_wrong_order_are_put_in_order(log: Log, tmp_path: Path) -> None:
    """The response to the first was complete after that to the second."""
    one, two = replicas(log)
    one.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.get(C)
    two.patch(C, {"data": {"next": "8002"}})
    log.events[-1], log.events[-3] = log.events[-3], log.events[-1]
    assert log.found(tmp_path) == []


# Blind overwrites and stale writes


def test_a_client_that_never_read_the_object_overwrites_blindly(log: Log, tmp_path: Path) -> None:
    """Its request names the field that another client has just set."""
    other, blind = log.client("other"), log.client("blind")
    other.watch(CONFIG_MAPS)
    other.patch(C, {"data": {"next": "8001"}})
    log.wait(1)
    blind.patch(C, {"data": {"next": "1"}})
    assert log.found(tmp_path) == ["blind overwrite"]


def test_an_unconditional_update_with_old_content_is_a_stale_write(log: Log, tmp_path: Path) -> None:
    """A client that watches puts back what another has changed, and did not mean to."""
    one, two = log.client("one"), log.client("two")
    stale = two.list(CONFIG_MAPS)["items"][0]
    two.watch(CONFIG_MAPS)
    log.wait(30)
    one.patch(C, {"data": {"next": "8001"}})
    log.wait(0.3)
    del stale["metadata"]["resourceVersion"]
    stale["data"]["other"] = "2"
    two.put(C, {"apiVersion": "v1", "kind": "ConfigMap", **stale})
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "stale write"
    assert 'wrote data.next = "8000"' in sentence(finding)


def test_the_same_content_after_a_conflict_is_a_blind_overwrite(log: Log, tmp_path: Path) -> None:
    """A fresh version on old content defeats the lock."""
    one, two = log.client("one"), log.client("two")
    mine = two.get(W)
    mine["spec"] = {"size": 1, "color": "red"}
    one.patch(W, {"spec": {"size": 5}})
    assert two.put(W, mine)["code"] == 409
    mine["metadata"]["resourceVersion"] = two.get(W)["metadata"]["resourceVersion"]
    two.put(W, mine)
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "blind overwrite"
    assert "409 Conflict" in sentence(finding)
    assert "RetryOnConflict" in sentence_of(finding.fix)


def test_a_change_made_anew_after_a_conflict_is_correct(log: Log, tmp_path: Path) -> None:
    """It keeps what had caused the conflict."""
    one, two = log.client("one"), log.client("two")
    mine = two.get(W)
    mine["spec"] = {**mine["spec"], "color": "red"}
    one.patch(W, {"spec": {"size": 5}})
    assert two.put(W, mine)["code"] == 409
    fresh = two.get(W)
    fresh["spec"]["color"] = "red"
    two.put(W, fresh)
    assert log.found(tmp_path) == []


def test_a_json_patch_may_test_for_the_version(log: Log, tmp_path: Path) -> None:
    """With the test it is refused, without it something is lost."""
    one, two = replicas(log)
    version = two.get(C)["metadata"]["resourceVersion"]
    one.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    operation = {"op": "replace", "path": "/data/next", "value": "8002"}
    two.patch(C, [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, operation])
    assert log.found(tmp_path) == []
    two.patch(C, [operation])
    assert log.found(tmp_path) == ["lost update"]


# Applies, dry runs, other objects


def test_applies_of_different_fields_do_not_clash(log: Log, tmp_path: Path) -> None:
    """Server-side apply by several managers is what it is made for."""
    for name, key in (("one", "a"), ("two", "b"), ("one", "a"), ("two", "b")):
        log.client(name).apply(C, {"metadata": {"name": "c"}, "data": {key: str(len(log.events))}})
    assert log.found(tmp_path) == []


def test_a_forced_apply_takes_a_field_over_on_purpose(log: Log, tmp_path: Path) -> None:
    """It says so."""
    one, two = log.client("one"), log.client("two")
    one.get(C)
    two.get(C)
    one.apply(C, {"metadata": {"name": "c"}, "data": {"next": "1"}})
    two.apply(C, {"metadata": {"name": "c"}, "data": {"next": "2"}})
    assert log.found(tmp_path) == []


def test_a_dry_run_stores_nothing(log: Log, tmp_path: Path) -> None:
    """So it overwrites nothing."""
    one, two = replicas(log)
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "8001"}})
    two.patch(C, {"data": {"next": "8002"}}, dryRun="All")
    assert log.found(tmp_path) == []


def test_an_object_of_the_same_name_is_deleted_instead_of_the_one_that_was_read(log: Log, tmp_path: Path) -> None:
    """Between the read and the delete it was deleted and created again."""
    one, two = log.client("one"), log.client("two")
    two.get(C)
    one.delete(C)
    one.create(CONFIG_MAPS, "c", data={"next": "1"})
    two.delete(C)
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "wrong object"
    assert "which one had created under the same name" in sentence(finding)


def test_a_uid_precondition_protects_the_new_object(log: Log, tmp_path: Path) -> None:
    """The server refuses the delete."""
    one, two = log.client("one"), log.client("two")
    uid = two.get(C)["metadata"]["uid"]
    one.delete(C)
    one.create(CONFIG_MAPS, "c", data={"next": "1"})
    two.delete(C, {"preconditions": {"uid": uid}})
    assert log.found(tmp_path) == []


def test_a_change_that_the_log_leaves_out_is_not_pinned_on_anybody(log: Log, tmp_path: Path) -> None:
    """The next writer is not taken for the author of a field that its request does not name."""
    one, two, hidden = log.client("one"), log.client("two"), log.client("hidden")
    two.get(C)
    hidden.patch(C, {"data": {"next": "8001"}})
    log.events.pop()
    one.patch(C, {"data": {"other": "9"}})
    two.get(C)
    two.patch(C, {"data": {"next": "8002"}})
    assert log.found(tmp_path) == []


def test_findings_of_one_cause_are_counted(log: Log, tmp_path: Path) -> None:
    """A bug that strikes three times is one finding."""
    one, two = log.client("one"), log.client("two")
    for number in range(3):
        two.get(C)
        one.patch(C, {"data": {"next": f"1{number}"}})
        two.patch(C, {"data": {"next": f"2{number}"}})
        log.wait(120)
    (finding,) = log.judged(tmp_path).findings
    assert finding.count == 3
