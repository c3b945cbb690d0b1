"""States are immutable, share what they have in common, and forget old changes."""

from __future__ import annotations

import pytest

from cluster.objects import config_map
from kontend import Cluster
from kontend.cluster import state as module
from kontend.kube.meta.names import Key


def test_a_version_reads_as_a_fresh_object_each_time() -> None:
    cluster = Cluster(objects=[config_map(data={"a": "1"})])
    version = cluster.state.find("configmaps", Key("default", "c"))
    assert version is not None
    assert version.read() == version.read()
    assert version.read() is not version.read()


def test_equal_content_has_an_equal_digest_whatever_its_version() -> None:
    cluster = Cluster(objects=[config_map(data={"a": "1"})])
    first = cluster.state.find("configmaps", Key("default", "c"))
    cluster.patch("ConfigMap/v1", "c", {"data": {"a": "2"}})
    cluster.patch("ConfigMap/v1", "c", {"data": {"a": "1"}})
    again = cluster.state.find("configmaps", Key("default", "c"))
    assert first is not None
    assert again is not None
    assert first.resource_version != again.resource_version
    assert first.digest == again.digest
    assert len(first.digest) == 16


def test_other_content_has_another_digest() -> None:
    cluster = Cluster(objects=[config_map("a", data={"a": "1"}), config_map("b", data={"a": "1"})])
    cluster.patch("ConfigMap/v1", "a", {"data": {"a": "2"}})
    digests = {version.digest for version in cluster.state.objects("configmaps").values()}
    assert len(digests) == 2


def test_uids_and_suffixes_are_never_used_twice() -> None:
    state = Cluster().state
    uids, suffixes = set(), set()
    for _ in range(200):
        state, uid = state.next_uid()
        state, suffix = state.next_suffix()
        uids.add(uid)
        suffixes.add(suffix)
    assert len(uids) == len(suffixes) == 200
    assert {len(suffix) for suffix in suffixes} == {5}
    assert state.serial == Cluster().state.serial + 400


@pytest.mark.parametrize("filled", [b"", b'{"spec":{}}'])
def test_a_version_says_which_defaults_storage_does_not_have(filled: bytes) -> None:
    state, version = Cluster().state.write("configmaps", Key("default", "c"), b'{"metadata":{}}', (), filled=filled)
    assert version.filled == filled
    assert state.find("configmaps", Key("default", "c")) is version


def test_history_is_forgotten_in_stretches_and_what_is_left_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HISTORY", 10)
    cluster = Cluster()
    start = cluster.state.resource_version
    for index in range(35):
        cluster.create(config_map(f"c{index}"))
    state = cluster.state
    assert state.floor > start
    versions = [change.resource_version for change in state.changes_since(state.floor)]
    assert versions == list(range(state.floor + 1, state.resource_version + 1))
    assert 10 <= len(versions) <= 20
    past = state.objects_at("configmaps", state.floor)
    assert len(past) == state.floor - start


@pytest.mark.parametrize("writes", range(1, 14))
def test_the_floor_is_the_oldest_version_from_which_history_is_complete(
    monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    monkeypatch.setattr(module, "HISTORY", 3)
    cluster = Cluster()
    kept = {cluster.state.resource_version: cluster.state}
    for index in range(writes):
        cluster.create(config_map(f"c{index}"))
        kept[cluster.state.resource_version] = cluster.state
    state = cluster.state
    for version, earlier in kept.items():
        complete = [*range(version + 1, state.resource_version + 1)]
        changes = [change.resource_version for change in state.changes_since(version)]
        assert (changes == complete) == (version >= state.floor)
        if version >= state.floor:
            assert dict(state.objects_at("configmaps", version)) == dict(earlier.objects("configmaps"))


def test_forks_share_all_but_what_they_changed() -> None:
    cluster = Cluster(objects=[config_map(f"c{index}") for index in range(10)])
    fork = cluster.fork()
    fork.patch("ConfigMap/v1", "c3", {"data": {"a": "1"}})
    for index in (0, 5, 9):
        key = Key("default", f"c{index}")
        assert fork.state.find("configmaps", key) is cluster.state.find("configmaps", key)
    assert fork.state.kinds.get("namespaces") is cluster.state.kinds.get("namespaces")


def test_the_changes_of_one_object_are_told_newest_first_over_all_of_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HISTORY", 3)
    cluster = Cluster(objects=[config_map("c")])
    cluster.create(config_map("other"))
    cluster.patch("ConfigMap/v1", "c", {"data": {"a": "1"}})
    cluster.delete("ConfigMap/v1", "c")
    changes = list(cluster.state.changes_of("configmaps", Key("default", "c")))
    assert [change.type for change in changes] == ["DELETED", "MODIFIED", "ADDED"]
    assert cluster.state.older is not None


def test_history_is_bounded_by_bytes_too() -> None:
    """A large object that changes often does not fill the memory; a watch from long ago has to list again."""
    cluster = Cluster()
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}})
    first = cluster.state.resource_version
    for number in range(160):
        cluster.state, _ = cluster.state.write(
            "configmaps", Key("default", "large"), b"%d" % number + b" " * 1_000_000, ()
        )
    kept = cluster.state.changes_since(cluster.state.floor)
    assert cluster.state.floor > first
    assert 60 < len(kept) < 140
    assert sum(len(change.old.body) for change in kept if change.old is not None) < 3 * module.HISTORY_BYTES
    (event,) = cluster.watch("ConfigMap/v1", since=str(first))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_changes_of_one_resource_leave_out_all_others() -> None:
    cluster = Cluster()
    start = cluster.state.resource_version
    cluster.create(config_map("c"))
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    cluster.create(config_map("d"))
    state = cluster.state
    assert [change.key.name for change in state.changes_since(start, "configmaps")] == ["c", "d"]
    assert [change.key.name for change in state.changes_since(start)] == ["c", "s", "d"]
