"""A manager over HTTP: steady state, workers, errors, leaders, and a graceful end."""
# ruff: noqa: ARG002 (a reconcile has two arguments, whether it needs them or not)

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import pytest

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.runtime.client.api import Api
from kontend.runtime.controller import BadController, Controller, Request, Result
from kontend.runtime.manager.leases import LeaderElection
from kontend.runtime.manager.process import Manager
from kontend.serve.background import BackgroundServer
from runtime.samples import CONFIG_MAP, GADGET, Gadgets, cluster, config_map, gadget

QUICK = LeaderElection("lead", duration=1.0, renew_deadline=0.6, retry=0.05)


def manager(server: BackgroundServer, *controllers: Controller, **options: Any) -> Manager:
    return Manager(*controllers, config=server.url, **({"status_address": None} | options))


def serving(test: Callable[[BackgroundServer], Awaitable[Any]], *objects: dict[str, Any]) -> Any:
    """Run a test against a server of its own."""

    async def limited(server: BackgroundServer) -> Any:
        return await asyncio.wait_for(test(server), 30)

    with BackgroundServer(cluster(*objects).state) as server:
        return asyncio.run(limited(server))


class Signalling(Gadgets):
    """Says when a gadget is done."""

    name = "gadgets"

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.done: set[Request] = set()
        self.all_done = asyncio.Event()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        result = await super().reconcile(request, api)
        self.done.add(request)
        if len(self.done) >= self.wanted:
            self.all_done.set()
        return result


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_objects_are_reconciled_to_a_steady_state_and_then_nothing_is_written() -> None:
    async def run(server: BackgroundServer) -> None:
        first = Signalling(3)
        running = manager(server, first)
        await running.start()
        await first.all_done.wait()
        await until(lambda: not running.busy)
        await running.stop()
        assert [obj["metadata"]["name"] for obj in server.cluster.list(CONFIG_MAP)] == ["a", "b", "c"]
        assert {obj["status"]["phase"] for obj in server.cluster.list(GADGET)} == {"Ready"}
        version = server.cluster.resource_version
        second = Signalling(3)
        again = manager(server, second)
        await again.start()
        await second.all_done.wait()
        await again.stop()
        assert server.cluster.resource_version == version

    serving(run, gadget("a"), gadget("b"), gadget("c"))


def test_what_happens_while_it_runs_is_noticed() -> None:
    async def run(server: BackgroundServer) -> None:
        controller = Signalling(1)
        running = manager(server, controller)
        await running.start()
        await controller.all_done.wait()
        server.cluster.delete(CONFIG_MAP, "a")
        await until(lambda: len(server.cluster.list(CONFIG_MAP)) == 1)
        await running.stop()

    serving(run, gadget("a"))


def test_different_objects_run_at_once_and_one_object_never_twice() -> None:
    class Overlapping(Controller):
        kind = GADGET
        max_concurrent = 3

        def __init__(self) -> None:
            self.running: list[Request] = []
            self.most = 0
            self.doubled = False
            self.full = asyncio.Event()

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.doubled |= request in self.running
            self.running.append(request)
            self.most = max(self.most, len(self.running))
            if self.most == 3:
                self.full.set()
            await self.full.wait()
            obj = await api.get(self.kind, request)
            obj["status"] = {"n": (obj.get("status") or {}).get("n", 0) + 1}
            if obj["status"]["n"] < 5:
                await api.status.update(obj)
            self.running.remove(request)
            return None

    async def run(server: BackgroundServer) -> None:
        controller = Overlapping()
        running = manager(server, controller)
        await running.start()
        await until(lambda: all((obj.get("status") or {}).get("n") == 4 for obj in server.cluster.list(GADGET)))
        await running.stop()
        assert controller.most == 3
        assert not controller.doubled

    serving(run, *(gadget(name) for name in "abcd"))


def test_a_reconcile_reads_its_own_write_from_the_cache() -> None:
    class Reading(Controller):
        kind = GADGET
        owns: ClassVar[Sequence[str]] = (CONFIG_MAP,)

        def __init__(self) -> None:
            self.read: list[str] = []
            self.done = asyncio.Event()

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            if self.read:
                return None
            config = config_map("c", value="0")
            await api.create(config)
            for number in range(1, 21):
                config["data"]["value"] = str(number)
                await api.update(config)
                self.read.append((await api.get(CONFIG_MAP, "default/c"))["data"]["value"])
            await api.delete(config)
            self.read.append(str(len(await api.list(CONFIG_MAP))))
            self.done.set()
            return None

    async def run(server: BackgroundServer) -> None:
        controller = Reading()
        running = manager(server, controller)
        await running.start()
        await controller.done.wait()
        await running.stop()
        assert controller.read == [*(str(number) for number in range(1, 21)), "0"]

    serving(run, gadget("a"))


def test_an_error_is_logged_with_the_request_counted_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Controller):
        kind = GADGET

        def __init__(self) -> None:
            self.tries = 0
            self.done = asyncio.Event()

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.tries += 1
            if self.tries < 4:
                raise RuntimeError("not yet")
            self.done.set()
            return None

    async def run(server: BackgroundServer) -> None:
        controller = Failing()
        running = manager(server, controller)
        await running.start()
        await controller.done.wait()
        await running.stop()
        assert running.metrics.errors.get(controller="failing") == 3

    serving(run, gadget("a"))
    assert caplog.text.count("reconcile of failing default/a failed: not yet") == 3
    assert "RuntimeError: not yet" in caplog.text


def test_a_stop_lets_the_reconcile_under_way_finish() -> None:
    class Slow(Controller):
        kind = GADGET

        def __init__(self) -> None:
            self.begun, self.go_on = asyncio.Event(), asyncio.Event()
            self.finished: list[Request] = []

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.begun.set()
            await self.go_on.wait()
            await api.get(self.kind, request)
            self.finished.append(request)
            return None

    async def run(server: BackgroundServer) -> None:
        controller = Slow()
        running = manager(server, controller)
        await running.start()
        await controller.begun.wait()
        stopping = asyncio.create_task(running.stop())
        for _ in range(50):
            await asyncio.sleep(0)
        assert not stopping.done()
        controller.go_on.set()
        await stopping
        assert len(controller.finished) == 1  # the other one was still in the queue

    serving(run, gadget("a"), gadget("b"))


def test_a_reconcile_that_does_not_end_is_cancelled_after_the_grace() -> None:
    class Stuck(Controller):
        kind = GADGET

        def __init__(self) -> None:
            self.begun = asyncio.Event()
            self.cancelled = False

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            return None

    async def run(server: BackgroundServer) -> None:
        controller = Stuck()
        running = manager(server, controller, grace=0.01)
        await running.start()
        await controller.begun.wait()
        await running.stop()
        assert controller.cancelled

    serving(run, gadget("a"))


def test_the_second_leader_begins_when_the_first_has_stopped() -> None:
    async def run(server: BackgroundServer) -> None:
        one, two = Signalling(1), Signalling(1)
        first = manager(server, one, leader_election=QUICK)
        second = manager(server, two, leader_election=QUICK)
        running = asyncio.create_task(first.run_async())
        await one.all_done.wait()
        waiting = asyncio.create_task(second.run_async())
        await until(lambda: "backend" in vars(second) and second.backend.has_synced)
        assert not two.done
        first.request_stop()
        assert await running == 0
        await two.all_done.wait()
        lease = server.cluster.get("Lease.coordination.k8s.io/v1", "lead")
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == (second.identity, 1)
        second.request_stop()
        assert await waiting == 0

    serving(run, gadget("a"))


def test_a_leader_that_stops_gives_its_lease_back() -> None:
    async def run(server: BackgroundServer) -> None:
        controller = Signalling(1)
        running = manager(server, controller, leader_election="lead")
        await running.start()
        await controller.all_done.wait()
        assert server.cluster.get("Lease.coordination.k8s.io/v1", "lead")["spec"]["holderIdentity"] == running.identity
        await running.stop()
        assert not server.cluster.get("Lease.coordination.k8s.io/v1", "lead")["spec"].get("holderIdentity")

    serving(run, gadget("a"))


def test_a_leader_that_lost_its_lease_ends_with_a_failure() -> None:
    async def run(server: BackgroundServer) -> None:
        controller = Signalling(1)
        first = manager(server, controller, leader_election=QUICK)
        running = asyncio.create_task(first.run_async())
        await controller.all_done.wait()
        server.cluster.patch("Lease.coordination.k8s.io/v1", "lead", {"spec": {"holderIdentity": "usurper"}})
        assert await running == 1

    serving(run, gadget("a"))


def test_readiness_and_metrics_are_served() -> None:
    async def run(server: BackgroundServer) -> None:
        controller = Signalling(1)
        running = manager(server, controller, status_address="127.0.0.1:0")
        assert running.health.answer("GET", "/readyz")[0] == 503
        await running.start()
        await controller.all_done.wait()
        await until(lambda: not running.busy)
        assert [running.health.answer("GET", path)[0] for path in ("/readyz", "/healthz")] == [200, 200]
        text = running.health.answer("GET", "/metrics")[2]
        assert 'controller_runtime_reconcile_total{controller="gadgets",result="success"}' in text
        assert f'kontend_cache_resource_version{{kind="{GADGET}"}}' in text
        await running.stop()
        assert running.health.answer("GET", "/readyz")[0] == 503

    serving(run, gadget("a"))


def test_a_cache_comes_back_after_the_server_was_away() -> None:
    async def run() -> None:
        state = cluster(gadget("a")).state
        with BackgroundServer(state) as server:
            controller = Signalling(1)
            running = manager(server, controller)
            await running.start()
            await controller.all_done.wait()
            port = server.server.port
        state = server.server.state
        assert running.backend.has_synced
        controller.done.clear()
        controller.all_done.clear()
        controller.wanted = 2
        with BackgroundServer(Cluster(state=state, objects=[gadget("b")]).state) as server:
            # The same address may be taken, so the client gets the new one.
            running.backend.http.close()
            running.backend.http.config = type(running.backend.http.config)(server.url)
            assert port
            server.cluster.patch(GADGET, "a", {"spec": {"x": 1}})
            await asyncio.wait_for(controller.all_done.wait(), 20)
            await running.stop()

    asyncio.run(run())


def test_what_cannot_run_is_refused_before_anything_starts() -> None:
    with pytest.raises(BadController, match="no controllers"):
        asyncio.run(Manager(status_address=None, config="http://127.0.0.1:9").start())
    with pytest.raises(BadController, match="two controllers are called 'gadgets'"):
        Manager(Gadgets(), Gadgets())

    async def run() -> int:
        with BackgroundServer(Cluster().state) as server:
            return await manager(server, Gadgets()).run_async()

    with pytest.raises(UnknownKind, match="is its CustomResourceDefinition installed"):
        asyncio.run(run())
