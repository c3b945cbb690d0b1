"""Controllers in a unit test: in one fixed order, on virtual time, until they come to rest."""
# ruff: noqa: ARG002 (a reconcile has two arguments, whether it needs them or not)

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

import pytest

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import BadRequest, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import BadController, Controller, Mapper, Request, Result
from kontend.runtime.manager.in_process import InProcessManager, Unsettled
from kontend.testing import settle
from runtime.samples import CONFIG_MAP, GADGET, GADGETS, Gadgets, cluster, config_map, gadget


class Quiet(Controller):
    """A controller of gadgets that remembers what it was asked."""

    kind = GADGET

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        self.seen.append(str(request))
        return None


def test_controllers_settle_and_then_write_nothing_more() -> None:
    world = cluster(gadget("a"), gadget("b"))
    settle(world, [Gadgets()])
    assert [obj["status"]["phase"] for obj in world.list(GADGET)] == ["Ready", "Ready"]
    assert [obj["metadata"]["name"] for obj in world.list(CONFIG_MAP)] == ["a", "b"]
    version = world.resource_version
    assert settle(world, [Gadgets()]) == 2
    assert world.resource_version == version


def test_what_happens_later_is_noticed() -> None:
    world = cluster(gadget("a"))
    manager = InProcessManager(world, [Gadgets()])
    manager.settle()
    world.delete(CONFIG_MAP, "a")
    assert manager.settle() > 0
    assert world.get(CONFIG_MAP, "a")
    assert manager.settle() == 0


def test_the_same_cluster_gives_the_same_run() -> None:
    def run() -> list[str]:
        manager = InProcessManager(cluster(*(gadget(name) for name in "cab")), [Gadgets(), Quiet()])
        outcomes = []
        while (outcome := manager.step()) is not None:
            outcomes.append(str(outcome))
        return outcomes

    assert run() == run()


def test_controllers_take_turns() -> None:
    class Other(Quiet):
        pass

    manager = InProcessManager(cluster(gadget("a"), gadget("b")), [Quiet(), Other()])
    assert [manager.step().controller for _ in range(4)] == ["quiet", "other", "quiet", "other"]  # type: ignore[union-attr]


def test_a_failing_reconcile_is_retried_and_then_reported_with_its_error() -> None:
    class Failing(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.seen.append(str(request))
            raise ValueError("out of luck")

    controller = Failing()
    with pytest.raises(Unsettled, match="failing still fails for default/a after 60 s: out of luck") as raised:
        settle(cluster(gadget("a")), controller)
    assert isinstance(raised.value.__cause__, ValueError)
    assert 10 < len(controller.seen) < 20  # 5 ms, 10 ms, 20 ms ... within a minute


def test_a_conflict_is_no_failure_when_the_retry_succeeds() -> None:
    class Racing(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            obj = await api.get(self.kind, request)
            self.seen.append(obj["metadata"]["resourceVersion"])
            if len(self.seen) == 1:
                world.patch(GADGET, "a", {"spec": {"x": 1}})  # somebody else
            obj["status"] = {"seen": True}
            await api.status.update(obj)
            return None

    world = cluster(gadget("a"))
    controller = Racing()
    settle(world, controller)
    assert world.get(GADGET, "a")["status"] == {"seen": True}
    assert controller.seen[0] != controller.seen[1]


def test_a_livelock_is_reported_with_who_is_in_it() -> None:
    class Restless(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            obj = await api.get(self.kind, request)
            obj["spec"]["count"] = obj["spec"].get("count", 0) + 1
            await api.update(obj)
            return None

    with pytest.raises(Unsettled, match=r"not settled after 50 reconciles: restless default/a 50 times"):
        settle(cluster(gadget("a")), Restless(), limit=50)


def test_timers_fire_on_virtual_time_which_is_the_clusters_time() -> None:
    class Slow(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.seen.append(api.now())
            return Result(requeue_after=30) if len(self.seen) < 3 else None

    controller = Slow()
    assert settle(cluster(gadget("a")), controller, seconds=100) == 3
    assert controller.seen == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"]


def test_timers_beyond_the_horizon_wait() -> None:
    class Hourly(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.seen.append(api.now())
            return Result(requeue_after=3600)

    controller = Hourly()
    manager = InProcessManager(cluster(gadget("a")), [controller])
    assert manager.settle() == 1
    manager.advance(3600)
    assert manager.settle() == 1


def test_requeue_comes_back_with_backoff() -> None:
    class Again(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.seen.append(str(request))
            return Result(requeue=len(self.seen) < 4)

    assert settle(cluster(gadget("a")), Again()) == 4


def test_a_held_kind_is_stale_until_it_is_released() -> None:
    world = cluster(gadget("a"))
    manager = InProcessManager(world, [Gadgets()])
    manager.settle()
    manager.feed.held.add(CONFIG_MAP)
    world.delete(CONFIG_MAP, "a")
    assert manager.settle() == 0
    manager.feed.held.clear()
    manager.settle()
    assert world.get(CONFIG_MAP, "a")


def test_awaiting_anything_but_the_api_is_a_clear_error() -> None:
    class Sleeping(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            await asyncio.sleep(0)
            return None

    with pytest.raises(TypeError, match="only calls of the api can be awaited"):
        settle(cluster(gadget("a")), Sleeping())


def test_a_mapping_function_that_fails_fails_the_test() -> None:
    class Wrong(Quiet):
        watches: ClassVar[Mapping[str, Mapper]] = {CONFIG_MAP: lambda obj, _: [obj["no such key"]]}

    with pytest.raises(KeyError):
        settle(cluster(config_map("c")), Wrong())


def test_a_wrong_return_value_is_refused() -> None:
    class Returning(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            return 5  # type: ignore[return-value]

    with pytest.raises(Unsettled, match="expected a Result or None, found 5"):
        settle(cluster(gadget("a")), Returning())


def test_a_kind_that_is_not_served_and_a_class_in_place_of_an_object_are_refused_at_once() -> None:
    with pytest.raises(NotFound, match=r"add its CustomResourceDefinition"):
        settle(Cluster(), Quiet())
    with pytest.raises(BadController):
        settle(Cluster(crds=[GADGETS]), [Quiet])  # type: ignore[list-item]


def test_indexes_of_a_controller_serve_its_lists() -> None:
    class Counting(Quiet):
        indexes: ClassVar = {CONFIG_MAP: {"size": lambda obj: [obj["data"]["size"]]}}

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            indexed = await api.list(CONFIG_MAP, index=("size", "1"))
            self.seen += [obj["metadata"]["name"] for obj in indexed]
            with pytest.raises(BadRequest, match="for cached reads"):
                await api.live.list(CONFIG_MAP, index=("size", "1"))
            return None

    controller = Counting()
    settle(cluster(gadget("a"), config_map("x", size="1"), config_map("y", size="2")), controller)
    assert controller.seen == ["x"]


def test_memory_of_own_writes_is_given_back_when_the_cache_has_seen_them() -> None:
    class Churning(Quiet):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            made = config_map("c")
            await api.create(made)
            await api.delete(made)
            return None

    for follows in (True, False):  # the cache reads the kind, or knows nothing of it
        manager = InProcessManager(cluster(gadget("a")), [Churning()])
        if follows:
            manager.cache.view(CONFIG_MAP)
        manager.settle()
        assert (manager.writes.versions, manager.writes.deleted) == ({}, {})
