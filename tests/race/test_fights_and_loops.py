"""Fights between clients and hot loops are found; heartbeats, handshakes and retries are not taken for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from race.logs import CONFIG_MAPS, WIDGETS, Log, sentence

C = f"{CONFIG_MAPS}/c"
W = f"{WIDGETS}/w"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def log() -> Log:
    """A log in which a user has created a ConfigMap and a Widget."""
    log = Log()
    user = log.user()
    user.create(CONFIG_MAPS, "c", data={"a": "0"})
    user.create(WIDGETS, "w", spec={"replicas": 1})
    log.wait(60)
    return log


def test_two_managers_that_set_a_field_in_turns_fight(log: Log, tmp_path: Path) -> None:
    """An autoscaler and a manifest, minutes apart, each with a fresh read."""
    scaler, sync = log.client("autoscaler"), log.client("gitops")
    for _ in range(3):
        obj = scaler.get(W)
        obj["spec"]["replicas"] = 5
        scaler.put(W, obj)
        log.wait(180)
        sync.apply(W, {"metadata": {"name": "w"}, "spec": {"replicas": 1}})
        log.wait(20)
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "fight"
    assert sentence(finding).startswith(
        "gitops and autoscaler set spec.replicas of Widget default/w in turns: gitops to 1, autoscaler to 5, 3 times"
    )


def test_two_turns_are_not_a_fight(log: Log, tmp_path: Path) -> None:
    """Somebody may have changed their mind."""
    for name, value in (("one", "1"), ("two", "2"), ("one", "1"), ("two", "2")):
        client = log.client(name)
        client.get(C)
        client.patch(C, {"data": {"a": value}})
        log.wait(10)
    assert log.found(tmp_path) == []


def test_a_handshake_is_not_a_fight(log: Log, tmp_path: Path) -> None:
    """One client asks for something with an annotation, the other removes it when it is done."""
    asks, does = log.client("asks"), log.client("does")
    for _ in range(6):
        asks.get(C)
        asks.patch(C, {"metadata": {"annotations": {"refresh": "now"}}})
        log.wait(1)
        does.get(C)
        does.patch(C, {"metadata": {"annotations": {"refresh": None}}})
        log.wait(180)
    assert log.found(tmp_path) == []


def test_one_adds_what_the_other_removes_at_once(log: Log, tmp_path: Path) -> None:
    """Quick turns of a field that comes and goes are a fight."""
    adds, removes = log.client("adds"), log.client("removes")
    for _ in range(3):
        adds.get(C)
        adds.patch(C, {"metadata": {"labels": {"team": "a"}}})
        log.wait(0.1)
        removes.get(C)
        removes.patch(C, {"metadata": {"labels": {"team": None}}})
        log.wait(0.1)
    assert log.found(tmp_path) == ["fight"]


def test_a_person_who_switches_something_on_and_off_does_not_fight(log: Log, tmp_path: Path) -> None:
    """The controller switches it back each time."""
    user, controller = log.user(), log.client("controller")
    for _ in range(4):
        user.patch(W, {"spec": {"replicas": 0}})
        log.wait(1)
        controller.get(W)
        controller.patch(W, {"spec": {"replicas": 1}})
        log.wait(60)
    assert log.found(tmp_path) == []


def test_a_controller_that_triggers_itself_is_a_hot_loop(log: Log, tmp_path: Path) -> None:
    """It writes the time into the status, which wakes it up."""
    controller = log.client("widgets")
    for number in range(25):
        controller.patch(f"{W}/status", {"status": {"lastSeen": f"{number}"}})
        log.wait(0.05)
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "hot loop"
    assert "wrote Widget default/w/status 20 times" in sentence(finding)
    assert "status.lastSeen" in sentence(finding)


def test_writes_that_change_nothing_are_a_hot_loop(log: Log, tmp_path: Path) -> None:
    """Each one costs the server as much."""
    controller = log.client("widgets")
    for _ in range(21):
        controller.patch(f"{W}/status", {"status": {"phase": "Ready"}})
        log.wait(0.01)
    (finding,) = log.judged(tmp_path).findings
    assert finding.name == "hot loop"


def test_a_write_that_is_refused_over_and_over_is_a_hot_loop(log: Log, tmp_path: Path) -> None:
    """The client does not wait between the attempts."""
    controller = log.client("widgets")
    for _ in range(20):
        assert controller.patch(f"{WIDGETS}/none", {"spec": {"a": 1}})["code"] == 404
        log.wait(0.01)
    (finding,) = log.judged(tmp_path).findings
    assert "tried to patch" in sentence(finding)
    assert "404 NotFound" in sentence(finding)


def test_retries_that_wait_longer_each_time_are_not(log: Log, tmp_path: Path) -> None:
    """That is what the queue of a controller does."""
    controller = log.client("widgets")
    for number in range(25):
        controller.patch(f"{WIDGETS}/none", {"spec": {"a": 1}})
        log.wait(min(1000.0, 0.005 * 2**number))
    assert log.found(tmp_path) == []


def test_a_heartbeat_is_not_a_hot_loop(log: Log, tmp_path: Path) -> None:
    """Every ten seconds, for an hour."""
    node = log.client("node")
    for number in range(360):
        node.patch(f"{W}/status", {"status": {"heartbeat": str(number)}})
        log.wait(10)
    assert log.found(tmp_path) == []


def test_a_controller_that_reacts_to_others_is_not_a_hot_loop(log: Log, tmp_path: Path) -> None:
    """A rollout of many replicas makes as many writes."""
    controller, kubelet = log.client("rollout"), log.client("kubelet")
    for number in range(40):
        kubelet.create(CONFIG_MAPS, f"pod-{number}")
        controller.patch(f"{W}/status", {"status": {"ready": number}})
        log.wait(0.05)
    assert log.found(tmp_path) == []


def test_leases_are_written_all_the_time(log: Log, tmp_path: Path) -> None:
    """Two candidates renew and take over a lease; neither is a race."""
    one, two = log.client("one"), log.client("two")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    one.send("POST", LEASES, lease)
    for number in range(60):
        client, holder = (one, "one") if number // 10 % 2 == 0 else (two, "two")
        client.patch(f"{LEASES}/l", {"spec": {"holderIdentity": holder, "leaseTransitions": number}})
        log.wait(0.5)
    assert log.found(tmp_path) == []


def test_hot_loops_show_without_objects(tmp_path: Path) -> None:
    """At the level Metadata there is still who wrote what and when."""
    log = Log(level="Metadata")
    controller = log.client("widgets")
    controller.create(WIDGETS, "w")
    for number in range(25):
        controller.patch(f"{W}/status", {"status": {"n": number}})
        log.wait(0.05)
    result = log.judged(tmp_path)
    assert [finding.name for finding in result.findings] == ["hot loop"]
    assert result.judged == 0
    assert result.levels == {"Metadata": 26}
