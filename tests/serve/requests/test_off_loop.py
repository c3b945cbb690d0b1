"""A costly request does not keep others waiting."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from definitions import with_spec
from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.requests import answering, writing
from serve.wire import CONFIG_MAPS, MERGE_PATCH, Client, config_map

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def nested_loops() -> dict[str, Any]:
    """A definition of widgets whose rules cost as much as an object may."""
    numbers = {"type": "array", "maxItems": 200, "items": {"type": "integer"}}
    rule = {"rule": "self.l.all(x, self.l.all(y, x + y >= 0))"}
    return with_spec({"type": "object", "properties": {"l": numbers}, "x-kubernetes-validations": [rule] * 8})


def widget(name: str) -> dict[str, Any]:
    """A widget whose validation takes long."""
    metadata = {"name": name}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"l": list(range(200))}}


class Slow:
    """Holds costly requests until it is told to go on, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.started, self.go = threading.Semaphore(0), threading.Event()
        self.runs = 0
        really = getattr(answering, name)

        def slow(*arguments: Any) -> Any:
            result = really(*arguments)
            if threading.current_thread().name.startswith("kontend-request"):
                self.runs += 1
                self.started.release()
                self.go.wait(10)
            return result

        monkeypatch.setattr(answering, name, slow)


def test_others_are_answered_while_a_costly_write_is_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads and writes; the costly one is carried out again on what they have made of the state."""
    slow = Slow(monkeypatch, "write")
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client, Client(running.url) as other:
        answers: list[int] = []
        body = config_map("large", text="x" * 100_000)
        thread = threading.Thread(target=lambda: answers.append(client.send("POST", CONFIG_MAPS, body).code))
        thread.start()
        assert slow.started.acquire(timeout=10)
        assert other.get("/healthz").code == 200
        assert other.create("small").code == 201
        assert other.get(f"{CONFIG_MAPS}/large").code == 404
        slow.go.set()
        thread.join()
        assert answers == [201]
        assert slow.runs == 2
        names = [item["metadata"]["name"] for item in other.get(CONFIG_MAPS).json["items"]]
        assert names == ["large", "small"]


def test_a_costly_write_gets_its_turn_among_many_small_ones() -> None:
    """After a few attempts the others are held back; none is lost, and versions stay in order."""
    with BackgroundServer(Cluster().state) as running:
        enough = threading.Event()
        written = [0] * 4

        def write(index: int) -> None:
            with Client(running.url) as client:
                assert client.create(f"c{index}").code == 201
                while not enough.is_set():
                    assert client.patch(f"c{index}", n=str(written[index] + 1)).code == 200
                    written[index] += 1

        threads = [threading.Thread(target=write, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        with Client(running.url) as client:
            for number in range(5):
                assert client.send("POST", CONFIG_MAPS, config_map(f"l{number}", text="x" * 900_000)).code == 201
            enough.set()
            for thread in threads:
                thread.join()
            for index in range(4):
                assert client.get(f"{CONFIG_MAPS}/c{index}").json["data"]["n"] == str(written[index])


def test_rules_that_loop_within_loops_keep_nobody_waiting() -> None:
    """A health check is answered soon, again and again, while they run."""
    with BackgroundServer(Cluster(crds=[nested_loops()]).state) as running:
        done = threading.Event()
        codes: list[int] = []

        def write() -> None:
            with Client(running.url) as client:
                codes.extend(client.send("POST", WIDGETS, widget(f"w{number}")).code for number in range(3))
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        longest, asked = 0.0, 0
        with Client(running.url) as client:
            while not done.is_set():
                started = time.monotonic()
                assert client.get("/healthz").code == 200
                longest, asked = max(longest, time.monotonic() - started), asked + 1
        thread.join()
    assert codes == [201] * 3
    assert asked > 10
    assert longest < 0.5


def test_a_failure_beside_the_loop_is_answered(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With a refusal, or with 500 for a bug of ours; the next request is served."""
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        large = config_map("large", text="x" * 100_000)
        assert client.send("POST", CONFIG_MAPS, large).code == 201
        assert client.send("POST", CONFIG_MAPS, large).code == 409
        patch = {"data": {"text": "y" * 100_000}, "metadata": {"resourceVersion": "1"}}
        assert client.send("PATCH", f"{CONFIG_MAPS}/large", patch, Content_Type=MERGE_PATCH).code == 409

        def broken(*_: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patched:
            patched.setattr(answering, "write", broken)
            assert client.send("POST", CONFIG_MAPS, large).code == 500
        assert "ZeroDivisionError" in capfd.readouterr().err
        assert client.create("small").code == 201


def test_writes_that_were_held_back_are_carried_out_when_the_costly_one_has_become_cheap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when the large object that it was to patch has been deleted meanwhile."""
    monkeypatch.setattr(writing, "_ATTEMPTS", 1)
    slow = Slow(monkeypatch, "write")
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client, Client(running.url) as other:
        slow.go.set()
        assert client.send("POST", CONFIG_MAPS, config_map("large", text="x" * 100_000)).code == 201
        slow.go.clear()
        assert slow.started.acquire(timeout=10)
        answers: list[int] = []
        thread = threading.Thread(target=lambda: answers.append(client.patch("large", n="1").code))
        thread.start()
        assert slow.started.acquire(timeout=10)
        with Client(running.url) as third:
            # Deleting it is costly too, so another write gets in between: through the server, as controllers do.
            running.call(lambda: running.server.cluster.delete("ConfigMap/v1", "large"))
            slow.go.set()
            thread.join()
            assert answers == [404]
            assert third.create("small").code == 201
        assert other.create("smaller").code == 201
