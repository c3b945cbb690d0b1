"""List and watch: resumed where it stopped, listed again when the server forgot, never back in time."""
# ruff: noqa: ARG002 (the servers of these tests take what an informer says)

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Gone, ServiceUnavailable
from kontend.runtime.cache.informer import Informer, StaleCache
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.http_backend import SilentWatch
from kontend.runtime.client.patches import Object
from kontend.runtime.telemetry.metrics import Metrics
from runtime.samples import CONFIG_MAP, config_map


class Script:
    """A server that does what a test says: each list and each watch takes the next entry."""

    def __init__(self, *, lists: list[Any], watches: list[list[Any]]) -> None:
        self.lists = lists
        self.watches = watches
        self.asked: list[str] = []
        self.pauses: list[float] = []
        self.done = asyncio.Event()

    async def list(self, kind: str, query: Mapping[str, str]) -> tuple[list[Object], int]:
        self.asked.append("list " + ",".join(f"{name}={value}" for name, value in query.items()))
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        items, version = answer
        return items, version

    async def watch(self, kind: str, version: int, *, idle: float) -> AsyncIterator[tuple[str, Object]]:
        self.asked.append(f"watch {version}")
        if not self.watches:
            self.done.set()
            await asyncio.Event().wait()
        for event in self.watches.pop(0):
            if isinstance(event, Exception):
                raise event
            yield event

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def item(name: str, version: int) -> Object:
    obj = config_map(name)
    obj["metadata"] |= {"resourceVersion": str(version), "uid": name}
    return obj


def bookmark(version: int) -> tuple[str, Object]:
    return "BOOKMARK", {"metadata": {"resourceVersion": str(version)}}


def play(script: Script, *, monotonic: bool = True, written: int = 0) -> tuple[Cache, list[str]]:
    """Run an informer until the script is at its end; the cache, and what was asked for."""

    async def run() -> Cache:
        cache = Cache(monotonic=monotonic)
        informer = Informer(script, cache, CONFIG_MAP, sleep=script.sleep, written=lambda _: written)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(script.done.wait(), 5)
        task.cancel()
        return cache

    return asyncio.run(run()), script.asked


def names(cache: Cache) -> list[str]:
    return [obj["metadata"]["name"] for obj in cache.list(CONFIG_MAP)]


def test_a_watch_that_ends_is_resumed_from_the_last_version_seen() -> None:
    script = Script(
        lists=[([item("a", 3)], 5)],
        watches=[[("ADDED", item("b", 6))], [("DELETED", item("a", 8)), ("MODIFIED", item("b", 9))]],
    )
    cache, asked = play(script)
    assert asked == ["list ", "watch 5", "watch 6", "watch 9"]
    assert names(cache) == ["b"]


def test_a_bookmark_is_resumed_from_too() -> None:
    _, asked = play(Script(lists=[([], 5)], watches=[[bookmark(70)]]))
    assert asked[-1] == "watch 70"


@pytest.mark.parametrize("first", [[("ADDED", item("b", 6)), Gone("too old")], [Gone("too old")]])
def test_a_version_that_the_server_forgot_is_listed_again(first: list[Any]) -> None:
    script = Script(lists=[([item("a", 3)], 5), ([item("c", 8)], 9)], watches=[first])
    cache, asked = play(script)
    seen = 6 if len(first) > 1 else 5
    not_older = f"list resourceVersion={seen},resourceVersionMatch=NotOlderThan"
    assert asked == ["list ", "watch 5", not_older, "watch 9"]
    assert names(cache) == ["c"]


def test_an_error_is_retried_from_where_it_was_with_growing_pauses() -> None:
    down = ServiceUnavailable("down")
    script = Script(lists=[down, ([], 5)], watches=[[down], [down], [("ADDED", item("b", 6)), down]])
    _, asked = play(script)
    assert asked == ["list ", "list ", "watch 5", "watch 5", "watch 5", "watch 6"]
    assert len(script.pauses) == 4
    assert script.pauses[1] > 0.1  # the second failure in a row
    assert script.pauses[3] <= 0.2  # something was heard in between


def test_a_watch_that_falls_silent_is_replaced_at_once() -> None:
    script = Script(lists=[([], 5)], watches=[[bookmark(6), SilentWatch("nothing")], [SilentWatch("nothing")]])
    _, asked = play(script)
    assert asked == ["list ", "watch 5", "watch 6", "watch 6"]
    assert script.pauses == []


def test_an_answer_that_makes_no_sense_is_not_the_end() -> None:
    script = Script(lists=[([], 5), ([item("a", 6)], 7)], watches=[[("ADDED", {"metadata": {"resourceVersion": "x"}})]])
    cache, asked = play(script)
    assert asked[-2:] == ["list resourceVersion=5,resourceVersionMatch=NotOlderThan", "watch 7"]
    assert names(cache) == ["a"]


def test_the_first_list_is_a_consistent_read_and_later_ones_are_not_older_than_own_writes() -> None:
    _, asked = play(Script(lists=[([], 12)], watches=[]), written=12)
    assert asked[0] == "list resourceVersion=12,resourceVersionMatch=NotOlderThan"


def test_a_list_older_than_an_own_write_is_not_shown() -> None:
    script = Script(lists=[([], 8), ([item("a", 12)], 12)], watches=[])
    cache, _ = play(script, written=12)
    assert names(cache) == ["a"]


def test_a_server_that_began_anew_is_noticed_by_its_bookmark() -> None:
    script = Script(lists=[([], 50), ([], 3), ([], 60)], watches=[[bookmark(3)]])
    _, asked = play(script)
    not_older = "list resourceVersion=50,resourceVersionMatch=NotOlderThan"
    assert asked == ["list ", "watch 50", not_older, not_older, "watch 60"]


def test_without_the_guard_any_cache_may_answer() -> None:
    _, asked = play(Script(lists=[([], 5)], watches=[]), monotonic=False)
    assert asked[0] == "list resourceVersion=0"


def test_waiting_ends_when_the_version_is_seen_and_not_before() -> None:
    async def run() -> list[str]:
        order: list[str] = []
        script = Script(lists=[([], 5)], watches=[[("ADDED", item("a", 6)), ("ADDED", item("b", 7))]])
        cache = Cache()
        informer = Informer(script, cache, CONFIG_MAP, on_version=lambda _, version: order.append(f"seen {version}"))

        async def wait(version: int) -> None:
            await informer.wait(version, timeout=5)
            order.append(f"waited {version} at {informer.view.version}")

        waits = [asyncio.create_task(wait(version)) for version in (7, 0, 6)]
        task = asyncio.create_task(informer.run())
        await asyncio.gather(*waits)
        task.cancel()
        return order

    order = asyncio.run(run())
    assert [line for line in order if line.startswith("seen")] == ["seen 5", "seen 6", "seen 7"]
    assert all(int(line.split()[1]) <= int(line.split()[3]) for line in order if line.startswith("waited"))


def test_waiting_has_an_end_and_says_what_it_waited_for() -> None:
    async def run() -> None:
        script = Script(lists=[([], 5)], watches=[])
        informer = Informer(script, Cache(), CONFIG_MAP)
        task = asyncio.create_task(informer.run())
        await script.done.wait()
        try:
            await informer.wait(9, timeout=0.01)
        finally:
            task.cancel()

    with pytest.raises(StaleCache, match=r"cache of ConfigMap/v1 is at version 5, but version 9 was written by this"):
        asyncio.run(run())


class Replica:
    """Two API servers of one cluster: one that knows everything and one that has fallen behind."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.behind = cluster.fork()

    async def list(self, kind: str, query: Mapping[str, str]) -> tuple[list[Object], int]:
        # Version 0 means "whatever you have": the load balancer happens to choose the one that is behind.
        server = self.behind if query.get("resourceVersion") == "0" else self.cluster
        return server.list(kind), int(server.resource_version)

    async def watch(self, kind: str, version: int, *, idle: float) -> AsyncIterator[tuple[str, Object]]:
        await asyncio.Event().wait()
        yield bookmark(0)


def after_restart(*, monotonic: bool) -> list[str]:
    """A process makes a child, dies, and comes back: what does it see?"""
    cluster = Cluster()
    replica = Replica(cluster)
    cluster.create(config_map("child"))

    async def run() -> list[str]:
        cache = Cache(monotonic=monotonic)
        informer = Informer(replica, cache, CONFIG_MAP)
        task = asyncio.create_task(informer.run())
        await informer.wait(0, timeout=5)
        task.cancel()
        return names(cache)

    return asyncio.run(run())


def test_after_a_restart_a_process_sees_what_it_wrote_before() -> None:
    assert after_restart(monotonic=True) == ["child"]


def test_without_the_guard_it_may_not_and_would_create_the_child_again() -> None:
    assert after_restart(monotonic=False) == []


def test_a_refreshed_view_has_all_that_the_server_has_and_takes_no_earlier_event() -> None:
    async def run() -> list[str]:
        lists = [([item("a", 5)], 7), ([item("b", 9)], 12)]
        script = Script(lists=lists, watches=[])
        cache = Cache()
        informer = Informer(script, cache, CONFIG_MAP, sleep=script.sleep)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(script.done.wait(), 5)
        await informer.refresh()
        informer.view.apply("MODIFIED", item("a", 8))  # the watch from version 7 sends what was before the list
        task.cancel()
        assert script.asked == ["list ", "watch 7", "list "]
        return names(cache)

    assert asyncio.run(run()) == ["b"]


def test_a_wait_for_what_was_seen_returns_at_once() -> None:
    async def run() -> None:
        script = Script(lists=[([item("a", 5)], 7)], watches=[])
        informer = Informer(script, Cache(), CONFIG_MAP, sleep=script.sleep)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(script.done.wait(), 5)
        await informer.wait(7, timeout=0)
        with pytest.raises(StaleCache, match="is at version 7, but version 8 was written"):
            await informer.wait(8, timeout=0)
        task.cancel()

    asyncio.run(run())


def test_pauses_double_from_a_fifth_of_a_second_with_jitter() -> None:
    refused = [ServiceUnavailable("not yet")] * 4
    script = Script(lists=[*refused, ([], 5)], watches=[])
    play(script)
    assert len(script.pauses) == 4
    for pause, longest in zip(script.pauses, (0.2, 0.4, 0.8, 1.6), strict=True):
        assert longest / 2 <= pause <= longest


def test_a_watch_that_delivers_and_then_fails_starts_the_backoff_again() -> None:
    down = ServiceUnavailable("down")
    script = Script(lists=[([], 5)], watches=[[down], [down], [bookmark(6), down], [down]])
    play(script)
    for pause, longest in zip(script.pauses, (0.2, 0.4, 0.2, 0.4), strict=True):
        assert longest / 2 <= pause <= longest


def test_lists_and_events_are_counted() -> None:
    async def run() -> None:
        script = Script(lists=[([item("a", 5)], 5)], watches=[[("MODIFIED", item("a", 6)), bookmark(9)]])
        metrics = Metrics()
        informer = Informer(script, Cache(), CONFIG_MAP, metrics=metrics, sleep=script.sleep)
        task = asyncio.create_task(informer.run())
        await asyncio.wait_for(script.done.wait(), 5)
        task.cancel()
        assert metrics.relists.get(kind=CONFIG_MAP) == 1
        assert metrics.events.get(kind=CONFIG_MAP) == 1
        assert f'kontend_cache_resource_version{{kind="{CONFIG_MAP}"}} 9' in metrics.text()

    asyncio.run(run())
