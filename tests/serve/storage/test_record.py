"""A state becomes rows and snapshots, and the same state again."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend import Cluster, NotFound, State
from kontend.cluster.state import Version
from kontend.serve.storage import snapshot
from kontend.serve.storage.record import Counters, all_rows, rebuild
from kontend.serve.storage.snapshot import BadSnapshot
from kontend.serve.storage.store import Store, StoreError
from serve.objects import widget, widgets
from serve.wire import config_map

OPERATIONS = st.lists(st.tuples(st.sampled_from(["write", "delete", "apply"]), st.sampled_from("abc")), max_size=25)


def act(cluster: Cluster, operation: str, name: str) -> None:
    """One write, or the attempt."""
    data = {"version": cluster.resource_version}
    if operation == "apply":
        cluster.apply(config_map(name, **data), manager="applier", force=True)
        return
    try:
        if operation == "delete":
            cluster.delete("ConfigMap/v1", name)
        else:
            cluster.patch("ConfigMap/v1", name, {"data": data})
    except NotFound:
        cluster.create(config_map(name, **data))


def contents(state: State) -> object:
    """Everything that a client could ever see of a state."""
    objects = {
        (resource, key): version.read() for resource, kept in state.kinds.items() for key, version in kept.items()
    }
    history = [
        (change.resource_version, change.type, change.resource, change.key, _read(change.old), _read(change.new))
        for change in state.changes_since(state.floor)
    ]
    return objects, history, Counters.of(state), sorted(resource.key for resource in state.registry.custom)


def _read(version: Version | None) -> object:
    return None if version is None else version.read()


@given(OPERATIONS, st.integers(0, 25))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_rows_make_the_same_state_again(operations: list[tuple[str, str]], forget: int) -> None:
    """Objects, versions, uids, history: wherever history begins."""
    cluster = Cluster()
    for index, (operation, name) in enumerate(operations):
        act(cluster, operation, name)
        if index == forget:
            forgotten = {"newest": None, "older": None, "stretch": 0, "floor": cluster.state.resource_version}
            cluster.state = cluster.state.replace(**forgotten)
    rows = list(all_rows(cluster.state))
    assert rows == sorted(rows)
    assert contents(rebuild(rows, Counters.of(cluster.state))) == contents(cluster.state)


@given(OPERATIONS, st.integers(1, 5))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_what_is_saved_step_by_step_is_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str]], together: int
) -> None:
    """However many writes share a transaction, and with history that is forgotten on the way."""
    store = Store(tmp_path_factory.mktemp("data"))
    cluster = Cluster()
    saved = cluster.state
    store.save(None, saved)
    for index, (operation, name) in enumerate(operations):
        act(cluster, operation, name)
        if index % together == 0:
            store.save(saved, cluster.state)
            saved = cluster.state
    loaded = store.load()
    store.close()
    assert loaded is not None
    assert contents(loaded) == contents(saved)


def test_forgotten_history_is_dropped_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory in use does not grow with the number of writes."""
    monkeypatch.setattr("kontend.cluster.state.HISTORY", 10)
    store = Store(tmp_path)
    cluster = Cluster(objects=[config_map("a", n="0"), config_map("b")])
    store.save(None, cluster.state)
    for number in range(100):
        before = cluster.state
        cluster.patch("ConfigMap/v1", "a", {"data": {"n": str(number)}})
        if number == 50:
            cluster.delete("ConfigMap/v1", "b")
        store.save(before, cluster.state)
    loaded = store.load()
    rows = len(list(all_rows(cluster.state)))
    stored = store.count()
    store.close()
    assert loaded is not None
    assert contents(loaded) == contents(cluster.state)
    assert stored == rows < 40


def test_more_writes_than_history_keeps_are_saved_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after deleting a very large collection."""
    monkeypatch.setattr("kontend.cluster.state.HISTORY", 5)
    store = Store(tmp_path)
    cluster = Cluster()
    store.save(None, cluster.state)
    before = cluster.state
    for number in range(30):
        cluster.create(config_map(f"c{number}"))
    store.save(before, cluster.state)
    loaded = store.load()
    store.close()
    assert loaded is not None
    assert contents(loaded) == contents(cluster.state)


def test_custom_resources_are_served_again(tmp_path: Path) -> None:
    """Their definitions are part of the state."""
    cluster = Cluster(crds=[widgets()], objects=[widget(size=1)])
    snapshot.save(cluster.state, tmp_path / "s.json")
    loaded = Cluster(state=snapshot.load(tmp_path / "s.json"))
    assert loaded.get("Widget.example.com/v1", "w") == cluster.get("Widget.example.com/v1", "w")
    assert contents(loaded.state) == contents(cluster.state)


def test_a_snapshot_is_readable_and_private(tmp_path: Path) -> None:
    """JSON for anybody, but only for its owner."""
    path = tmp_path / "s.json"
    snapshot.save(Cluster(objects=[config_map("c", a="1")]).state, path)
    version = orjson.loads(path.read_bytes())["versions"][-1]
    assert (version["resource"], version["name"], version["object"]["data"]) == ("configmaps", "c", {"a": "1"})
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"kind":"kontend.dev/Snapshot","format":1}', b"\x00"])
def test_what_is_not_a_snapshot_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    """And not with a traceback."""
    path = tmp_path / "s.json"
    path.write_bytes(content)
    with pytest.raises(BadSnapshot, match=r"s\.json"):
        snapshot.load(path)


def test_two_servers_cannot_share_a_directory(tmp_path: Path) -> None:
    """The second one gets an error."""
    store = Store(tmp_path)
    store.save(None, Cluster().state)
    with pytest.raises(StoreError, match="in use by another server"):
        Store(tmp_path)
    store.close()


def test_a_directory_that_is_damaged_is_refused(tmp_path: Path) -> None:
    """With the name of the file, and what to do."""
    (tmp_path / "kontend.db").write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=r"kontend\.db: damaged"):
        Store(tmp_path)


def test_a_torn_last_transaction_is_as_if_it_had_not_been(tmp_path: Path) -> None:
    """Half a write at the end of the log is dropped; what was complete before it stays."""
    store = Store(tmp_path / "a")
    cluster = Cluster()
    store.save(None, cluster.state)
    kept = cluster.state
    head = (tmp_path / "a" / "kontend.head").read_bytes()
    cluster.create(config_map("c", a="x" * 10_000))
    before = (tmp_path / "a" / "kontend.db-wal").stat().st_size
    store.save(kept, cluster.state)
    whole = (tmp_path / "a" / "kontend.db-wal").read_bytes()
    database = (tmp_path / "a" / "kontend.db").read_bytes()
    for end, expected in ((len(whole), cluster.state), (len(whole) - 100, kept), ((before + len(whole)) // 2, kept)):
        torn = tmp_path / str(end)
        torn.mkdir()
        (torn / "kontend.db").write_bytes(database)
        (torn / "kontend.db-wal").write_bytes(whole[:end])
        (torn / "kontend.head").write_bytes(head)
        again = Store(torn)
        loaded = again.load()
        again.close()
        assert loaded is not None
        assert contents(loaded) == contents(expected)
    store.close()
