"""With ``--data``, what was acknowledged survives ``kill -9``, and nothing else appears."""

from __future__ import annotations

import asyncio
import http.client
import os
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.storage import committing
from kontend.serve.storage.store import Store
from serve.wire import CONFIG_MAPS, Client, config_map, process, until, watching

#: The number of times that the server is killed; CI does it more often than a developer wants to wait for.
ROUNDS = int(os.environ.get("KONTEND_CRASH_ROUNDS", "3"))
WRITERS = 8


@dataclass
class Writer:
    """Counts up in an object of its own, as fast as it is answered."""

    name: str
    #: The last value and version that were acknowledged, and the value that was sent after it.
    acknowledged: int = -1
    version: str = ""
    sent: int = -1
    total: list[int] = field(default_factory=list)

    def run(self, url: str, enough: threading.Event, goal: int, done: threading.Semaphore) -> None:
        """Write until the server is gone."""
        with Client(url) as client:
            try:
                while True:
                    self.sent = self.acknowledged + 1
                    if self.acknowledged < 0:
                        answer = client.create(self.name, n=str(self.sent))
                    else:
                        answer = client.patch(self.name, n=str(self.sent))
                    assert answer.code in (200, 201), answer.raw
                    self.acknowledged, self.version = self.sent, answer.json["metadata"]["resourceVersion"]
                    self.total.append(self.sent)
                    if len(self.total) == goal:
                        done.release()
            except (OSError, http.client.HTTPException):
                enough.set()


def test_no_acknowledged_write_is_lost_and_none_is_invented(tmp_path: Path) -> None:
    """Killed at a moment of its own in each round, in the middle of the writing."""
    writers = [Writer(f"w{number}") for number in range(WRITERS)]
    random = Random(1)
    for _ in range(ROUNDS):
        with process("--data", str(tmp_path / "data")) as server:
            _check(server.url, writers)
            goal, enough, done = random.randint(5, 40), threading.Event(), threading.Semaphore(0)
            threads = []
            for writer in writers:
                writer.total.clear()
                threads.append(threading.Thread(target=writer.run, args=(server.url, enough, goal, done)))
                threads[-1].start()
            assert done.acquire(timeout=30)
            server.popen.kill()
            for thread in threads:
                thread.join()
    with process("--data", str(tmp_path / "data")) as server:
        _check(server.url, writers)


def _check(url: str, writers: list[Writer]) -> None:
    """Each object is as last acknowledged, or as last sent; there are no others."""
    with Client(url) as client:
        stored = {item["metadata"]["name"]: item for item in client.get(CONFIG_MAPS).json["items"]}
    assert set(stored) <= {writer.name for writer in writers if writer.sent >= 0}
    for writer in writers:
        if writer.name not in stored:
            assert writer.acknowledged < 0
            continue
        value, version = int(stored[writer.name]["data"]["n"]), stored[writer.name]["metadata"]["resourceVersion"]
        assert value in (writer.acknowledged, writer.sent)
        if value == writer.acknowledged and writer.sent != writer.acknowledged:
            assert version == writer.version
        writer.acknowledged, writer.version = value, version


def test_after_a_restart_versions_and_watches_go_on(tmp_path: Path) -> None:
    """A client that knew a version before the crash gets the changes since then."""
    with process("--data", str(tmp_path)) as server, Client(server.url) as client:
        created = client.create("a", n="1").json
        patched = client.patch("a", n="2").json
        client.create("b")
        client.send("DELETE", f"{CONFIG_MAPS}/b")
        server.popen.kill()
    with process("--data", str(tmp_path)) as server, Client(server.url) as client:
        assert client.get(f"{CONFIG_MAPS}/a").json == patched
        version = created["metadata"]["resourceVersion"]
        with watching(server.url, CONFIG_MAPS, resourceVersion=version) as events:
            assert [next(events)["type"] for _ in range(3)] == ["MODIFIED", "ADDED", "DELETED"]
        later = client.patch("a", n="3").json["metadata"]["resourceVersion"]
        assert int(later) == int(patched["metadata"]["resourceVersion"]) + 3


def test_a_write_that_cannot_be_saved_has_not_happened(tmp_path: Path) -> None:
    """The client gets an error, and no reader ever sees it."""
    state = Cluster().state
    store = Store(tmp_path)
    store.save(None, state)
    with BackgroundServer(state, store=store) as running, Client(running.url) as client:
        assert client.create("a").code == 201
        store.close()
        answer = client.create("b")
        assert (answer.code, answer.json["reason"]) == (500, "InternalError")
        assert [item["metadata"]["name"] for item in client.get(CONFIG_MAPS).json["items"]] == ["a"]


def test_writes_that_come_together_share_a_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is on its way to the disk, the others gather."""
    state = Cluster().state
    store = Store(tmp_path)
    store.save(None, state)
    saves: list[int] = []
    gate, really_save = threading.Event(), store.save

    def slow_save(before: object, after: object) -> None:
        gate.wait(10)
        saves.append(1)
        really_save(before, after)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "save", slow_save)
    with BackgroundServer(state, store=store) as running:
        clients = [Client(running.url) for _ in range(10)]
        threads = [threading.Thread(target=client.create, args=(f"c{index}",)) for index, client in enumerate(clients)]
        for thread in threads:
            thread.start()
        until(lambda: running.call(lambda: running.server.unacknowledged) == 10)
        with Client(running.url) as reader:
            assert reader.get(CONFIG_MAPS).json["items"] == []
        gate.set()
        for thread, client in zip(threads, clients, strict=True):
            thread.join()
            client.close()
    store.close()
    assert len(saves) <= 2


def test_when_the_disk_is_full_reads_and_deletes_still_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As etcd allows: other writes get its error, until there is room again."""
    monkeypatch.setattr(committing, "_TRY_EVERY", 0.0)
    store = Store(tmp_path)
    state = Cluster().state
    store.save(None, state)
    room = [True]
    monkeypatch.setattr(store, "take_reserve", lambda: room[0])
    with BackgroundServer(state, store=store) as running, Client(running.url) as client:
        assert [client.create(f"c{number}", text="x" * 50_000).code for number in range(5)] == [201] * 5
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        room[0] = False
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        codes = [client.create(f"d{number}", text="x" * 50_000) for number in range(5)]
        assert {answer.code for answer in codes} == {500}
        assert codes[-1].json["message"] == "etcdserver: mvcc: database space exceeded"
        assert client.patch("c1", text="y").code == 500
        assert len(client.get(CONFIG_MAPS).json["items"]) >= 5
        assert client.send("DELETE", f"{CONFIG_MAPS}/c0").code == 200
        assert client.get(f"{CONFIG_MAPS}/c0").code == 404
        assert client.send("DELETE", CONFIG_MAPS).code == 200
        assert client.get(f"{CONFIG_MAPS}/c1").code == 404
        room[0] = True
        store._db.execute("PRAGMA max_page_count = 1000000")
        assert client.create("again", text="x" * 50_000).code == 201
    store.close()
    again = Store(tmp_path)
    loaded = again.load()
    again.close()
    assert loaded is not None
    assert {key.name for key in loaded.objects("configmaps")} >= {"again"}
    assert not any(key.name.startswith(("c", "d")) for key in loaded.objects("configmaps"))


def test_room_is_kept_for_deletes_and_given_up_when_the_disk_is_full(tmp_path: Path) -> None:
    """And taken again when there is some."""
    store = Store(tmp_path)
    reserve = tmp_path / "kontend.reserve"
    assert reserve.stat().st_size >= 1 << 20
    store.release_reserve()
    assert not reserve.exists()
    assert store.take_reserve()
    store.close()
    assert not reserve.exists()


def test_after_a_failed_save_writes_start_from_what_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client gets an error, and so do all who wrote after it; the next write starts from what is on disk."""

    async def check() -> None:
        state = Cluster().state
        store = Store(tmp_path)
        store.save(None, state)
        commits = committing.Commits(state, store, lambda: None)
        cluster = Cluster()
        cluster.state = state
        answers: list[bool] = []
        with monkeypatch.context() as patched:
            patched.setattr(store, "save", lambda *_: (_ for _ in ()).throw(OSError("the disk is gone")))
            for name in ("a", "b"):
                cluster.state = commits.newest
                cluster.create(config_map(name))
                commits.advance(cluster.state)
                commits.when_durable(answers.append)
            assert commits.waiting == 2
            while commits.waiting:
                await asyncio.sleep(0)
        assert answers == [False, False]
        assert str(commits.failure) == "the disk is gone"
        assert commits.newest is commits.durable is state
        assert not commits.full
        cluster.state = commits.newest
        cluster.create(config_map("c"))
        commits.advance(cluster.state)
        commits.when_durable(answers.append)
        await commits.finish()
        assert answers == [False, False, True]
        assert [key.name for key in commits.durable.objects("configmaps") if key.name in "abc"] == ["c"]
        store.close()

    asyncio.run(check())


def test_data_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    """Also in a directory that was open before: there are Secrets in it."""
    directory = tmp_path / "data"
    directory.mkdir(0o755)
    (directory / "kontend.db").touch(0o644)
    store = Store(directory)
    store.save(None, Cluster().state)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    store.close()


def test_a_server_that_starts_on_a_full_disk_keeps_the_room_that_is_left_for_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes are refused from the first one on, until there is as much room as the reserve takes up."""
    store = Store(tmp_path)
    state = Cluster(objects=[config_map("c")]).state
    store.save(None, state)
    store.close()
    monkeypatch.setattr(committing, "_TRY_EVERY", 0.0)
    room = [False]
    monkeypatch.setattr(Store, "take_reserve", lambda _: room[0])
    store = Store(tmp_path)
    with BackgroundServer(state, store=store) as running, Client(running.url) as client:
        assert client.create("d").code == 500
        assert client.send("DELETE", f"{CONFIG_MAPS}/c").code == 200
        room[0] = True
        assert client.create("d").code == 201
    store.close()
