"""With ``--data``, what was acknowledged survives ``kill -9``, and nothing else appears."""

from __future__ import annotations

import http.client
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.storage.store import Store
from serve.wire import CONFIG_MAPS, Client, process, until, watching

#: How often the server is killed; CI does it more often than a developer wants to wait for.
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
        found = {item["metadata"]["name"]: item for item in client.get(CONFIG_MAPS).json["items"]}
    assert set(found) <= {writer.name for writer in writers if writer.sent >= 0}
    for writer in writers:
        if writer.name not in found:
            assert writer.acknowledged < 0
            continue
        value, version = int(found[writer.name]["data"]["n"]), found[writer.name]["metadata"]["resourceVersion"]
        assert value in (writer.acknowledged, writer.sent)
        if value == writer.acknowledged and writer.sent != writer.acknowledged:
            assert version == writer.version
        writer.acknowledged, writer.version = value, version


def test_after_a_restart_versions_and_watches_go_on(tmp_path: Path) -> None:
    """A client that knew a version before the crash is told what happened since."""
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
    """The client is told so, and nobody ever sees it."""
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
        threads = [threading.Thread(target=each.create, args=(f"c{index}",)) for index, each in enumerate(clients)]
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
