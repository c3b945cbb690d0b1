"""Work on the event loop has a budget of processor time."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from definitions import with_spec
from kontend import Cluster
from kontend.serve import server
from kontend.serve.background import BackgroundServer
from kontend.serve.protobuf import requests
from kontend.serve.requests import answering
from kontend.serve.requests.loop_budget import LoopBudget, OverBudget
from kontend.serve.watches import watcher, watching
from serve.wire import CONFIG_MAPS, Client, config_map
from serve.wire import watching as watch_events


def forever() -> None:
    """Use processor time without end."""
    while True:
        pass


@pytest.fixture
def budget() -> Iterator[LoopBudget]:
    """A budget whose timer runs."""
    running = LoopBudget()
    running.start()
    yield running
    running.stop()


def test_work_that_never_ends_is_interrupted(budget: LoopBudget) -> None:
    """Each time."""
    for _ in range(3):
        with pytest.raises(OverBudget):
            budget.spend(forever)


def test_an_import_is_not_interrupted(budget: LoopBudget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would leave its locks behind."""
    source = "import time\nend = time.thread_time() + 0.05\nwhile time.thread_time() < end:\n    pass\n"
    (tmp_path / "slow_to_import.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)

    module = budget.spend(import_module, "slow_to_import")

    assert module.end


def test_handlers_of_exceptions_do_not_stop_the_interruption(budget: LoopBudget) -> None:
    """It is no Exception."""

    def stubborn() -> None:
        while True:
            with contextlib.suppress(Exception):
                forever()

    with pytest.raises(OverBudget):
        budget.spend(stubborn)


def test_an_interruption_that_a_finalizer_swallows_is_repeated(budget: LoopBudget) -> None:
    """Silently."""

    class Slow:
        def __del__(self) -> None:
            forever()

    def work() -> None:
        for _ in range(3):
            Slow()
        forever()

    with pytest.raises(OverBudget):
        budget.spend(work)


def test_short_work_returns_its_result_and_its_errors(budget: LoopBudget) -> None:
    """And what comes after it, outside of the budget, is never interrupted."""
    assert budget.spend(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        budget.spend(lambda: 1 // 0)
    sum(1 for _ in range(3_000_000))


def test_a_budget_that_has_stopped_leaves_no_trace() -> None:
    """The handler of the signal is the one from before."""
    before = signal.getsignal(signal.SIGVTALRM)
    running = LoopBudget()
    running.start()
    running.stop()
    running.stop()
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def on_main_thread(cluster: Cluster, talk: Callable[[Client], Any]) -> Any:
    """Talk to a server whose loop runs on this thread, as that of ``kontend serve`` does."""
    served = server.Server(cluster.state)

    async def serve() -> Any:
        await served.start("127.0.0.1", 0)
        try:
            with Client(f"http://127.0.0.1:{served.port}") as client:
                return await asyncio.to_thread(talk, client)
        finally:
            await served.stop()

    return asyncio.run(serve())


def many_rules() -> dict[str, Any]:
    """A definition of widgets with rules that do not loop, but that run for every number of a list."""
    rules = [{"rule": f"self + {n} >= {n}"} for n in range(10)]
    numbers = {
        "type": "array",
        "maxItems": 3000,
        "items": {"type": "integer", "x-kubernetes-validations": rules},
    }
    return with_spec({"type": "object", "properties": {"numbers": numbers}})


class Threads:
    """The kinds of threads that a function has run on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.names: list[str] = []
        really = getattr(module, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            on_loop = threading.current_thread() is threading.main_thread()
            self.names.append("loop" if on_loop else "thread")
            return really(*arguments, **options)

        monkeypatch.setattr(module, name, noted)


def test_a_write_that_takes_longer_than_predicted_goes_on_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small objects whose rules take long; small ones whose rules do not stay on the loop."""
    threads = Threads(monkeypatch, answering, "write")

    def talk(client: Client) -> None:
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        large = {**body, "spec": {"numbers": [1] * 3000}}
        assert client.send("POST", "/apis/example.com/v1/namespaces/default/widgets", large).code == 201
        small = {**body, "metadata": {"name": "v"}, "spec": {"numbers": [1]}}
        assert client.send("POST", "/apis/example.com/v1/namespaces/default/widgets", small).code == 201

    on_main_thread(Cluster(crds=[many_rules()]), talk)
    assert threads.names == ["loop", "thread", "loop"]


def test_a_read_that_takes_longer_than_predicted_goes_on_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer is the same."""
    monkeypatch.setattr(server, "is_costly", lambda *_: False)
    threads = Threads(monkeypatch, answering, "read")
    maps = [config_map(f"c{number}", text="x" * 3000) for number in range(3000)]
    answer = on_main_thread(
        Cluster(objects=maps), lambda client: client.get(f"{CONFIG_MAPS}?labelSelector=app!=a", Accept=TABLE)
    )
    assert [row["cells"][0] for row in answer.json["rows"]][:2] == ["c0", "c1"]
    assert len(answer.json["rows"]) == 3000
    assert threads.names == ["loop", "thread"]


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("method", "media", "body"),
    [
        ("POST", "application/yaml", b"a: &a [1, 2]\nb: [*a, *a]"),
        ("PATCH", "application/apply-patch+yaml", b"a: &a [1, 2]\nb: [*a, *a]"),
        ("PATCH", "application/json-patch+json", b'[{"op":"copy","from":"/data","path":"/data/a"}]'),
    ],
)
def test_small_bodies_that_stand_for_large_objects_are_costly(
    monkeypatch: pytest.MonkeyPatch, method: str, media: str, body: bytes
) -> None:
    """Aliases and copies."""
    threads = Threads(monkeypatch, answering, "write")
    path = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/a?fieldManager=m"
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        client.send(method, path, body, Content_Type=media)
    assert threads.names == ["thread"]


def test_large_protobuf_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread, it may take a second and holds up nobody."""
    threads = Threads(monkeypatch, requests, "as_json")
    large = b"\x12\x08\x0a\x03k11\x12\x01v" * 20_000
    size = len(large)
    length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
    body = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12" + length + large
    media = "application/vnd.kubernetes.protobuf"
    answer = on_main_thread(Cluster(), lambda client: client.send("POST", CONFIG_MAPS, body, Content_Type=media))
    assert (answer.code, threads.names) == (422, ["thread"])


def test_a_long_request_line_is_parsed_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a million parameters take half a second."""
    threads = Threads(monkeypatch, server, "Exchange")
    query = "&".join(f"a{number}={number}" for number in range(20_000))
    answer = on_main_thread(Cluster(), lambda client: client.get(f"{CONFIG_MAPS}?{query}"))
    assert (answer.code, threads.names) == (200, ["thread"])


def test_changes_are_published_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every watch sees all of them, in order, also one that begins in between."""
    monkeypatch.setattr(watching, "_PUBLISHING_TURN", 0.0)
    with BackgroundServer(Cluster().state) as running, watch_events(running.url, CONFIG_MAPS) as events:

        def write() -> None:
            for number in range(50):
                running.server.cluster.create(config_map(f"c{number}"))

        running.call(write)
        with watch_events(running.url, CONFIG_MAPS) as later:
            names = [next(events)["object"]["metadata"]["name"] for _ in range(50)]
            assert names == [f"c{number}" for number in range(50)]
            running.call(lambda: running.server.cluster.create(config_map("last")))
            seen = [next(later)["object"]["metadata"]["name"] for _ in range(51)]
            assert sorted(seen[:-1]) == sorted(names)
            assert seen[-1] == next(events)["object"]["metadata"]["name"] == "last"


def test_a_watch_that_was_begun_in_a_thread_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events from before it was opened come after its first objects."""
    monkeypatch.setattr(server, "is_costly", lambda *_: True)
    really = answering.read

    def slow(state: Any, exchange: Any, *more: Any, **options: Any) -> Any:
        answer = really(state, exchange, *more, **options)
        if exchange.query.get("watch"):
            running.call(lambda: running.server.cluster.create(config_map("meanwhile")))
            running.call(lambda: None)
        return answer

    monkeypatch.setattr(answering, "read", slow)
    with BackgroundServer(Cluster(objects=[config_map("a")]).state) as running:
        with watch_events(running.url, CONFIG_MAPS) as events:
            running.call(lambda: running.server.cluster.create(config_map("b")))
            names = [next(events)["object"]["metadata"]["name"] for _ in range(3)]
        assert names == ["a", "meanwhile", "b"]


def test_a_watch_of_few_among_many_lets_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """It pauses while it looks for them, and finds them all."""
    objects = [config_map(f"c{number}") for number in range(250)]
    with BackgroundServer(Cluster(objects=objects).state) as running:
        turns = 0
        really = watcher.Watcher._drain

        def counted(drained: Any) -> None:
            nonlocal turns
            turns += 1
            really(drained)

        monkeypatch.setattr(watcher.Watcher, "_drain", counted)
        with watch_events(running.url, CONFIG_MAPS, fieldSelector="metadata.name=c99") as events:
            assert next(events)["object"]["metadata"]["name"] == "c99"
            running.call(lambda: None)
    assert turns >= 3
