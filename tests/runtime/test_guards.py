"""Each guard: the bug without it, and its absence with it."""
# ruff: noqa: ARG002 (a reconcile has two arguments, whether it needs them or not)

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import ClassVar

import pytest

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, NotFound
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import AnswerLost, Call
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.manager.cached_backend import CachedBackend
from kontend.runtime.manager.in_process import InProcessManager, drive
from kontend.runtime.manager.leases import Elector, Fence, LeaderElection, LostLease
from kontend.runtime.telemetry.metrics import Metrics
from kontend.serve.background import BackgroundServer
from runtime.samples import CONFIG_MAP, GADGET, cluster, config_map, gadget

ON = Guards()


class OneChild(Controller):
    """Makes a child with a generated name when it sees none; the second look comes at once."""

    kind = GADGET
    owns: ClassVar[Sequence[str]] = (CONFIG_MAP,)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        owner = await api.get(self.kind, request)
        if not await api.list(CONFIG_MAP, index=("owner", owner["metadata"]["uid"])):
            child = config_map("", owner=owner)
            child["metadata"] |= {"generateName": "child-"}
            del child["metadata"]["name"]
            await api.create(child)
        return Result(requeue_after=0) if not self.looked_again(request) else None

    def __init__(self) -> None:
        self.looked: set[Request] = set()

    def looked_again(self, request: Request) -> bool:
        again = request in self.looked
        self.looked.add(request)
        return again


def children(guards: Guards) -> int:
    """Count the children after two reconciles, when the cache of the children lags."""
    world = cluster(gadget("a"))
    manager = InProcessManager(world, [OneChild()], guards=guards)
    manager.poll()
    manager.feed.held.add(CONFIG_MAP)
    manager.settle()
    return len(world.list(CONFIG_MAP))


def test_read_your_writes_a_child_is_made_once() -> None:
    assert children(ON) == 1


def test_without_read_your_writes_a_slow_cache_makes_it_twice() -> None:
    assert children(replace(ON, read_your_writes=False)) == 2


class Forgetful(InProcess):
    """A server whose first answer to a create is lost, behind a cache that lags until it is asked to catch up."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.views = {CONFIG_MAP: cluster.state}
        self.has_lost = False

    async def call(self, call: Call) -> object:
        response = await super().call(call)
        if call.verb == "create" and not self.has_lost:
            self.has_lost = True
            raise AnswerLost("the connection was closed")
        return response


@pytest.mark.parametrize(("guards", "children"), [(ON, 1), (replace(ON, read_your_writes=False), 2)])
def test_read_your_writes_sees_a_write_whose_answer_was_lost(guards: Guards, children: int) -> None:
    async def run() -> int:
        world = cluster(gadget("a"))
        api = Api(Forgetful(world), guards=guards)
        for attempt in range(2):
            if not await api.list(CONFIG_MAP):
                child = {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"generateName": "child-", "namespace": "default"},
                }
                with suppress(AnswerLost) if attempt == 0 else nullcontext():
                    await api.create(child)
        return len(world.list(CONFIG_MAP))

    assert asyncio.run(run()) == children


class Replaces(Controller):
    """Deletes a child and looks whether it is gone."""

    kind = GADGET

    def __init__(self) -> None:
        self.saw: list[str] = []

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        child = await api.get(CONFIG_MAP, "default/child")
        await api.delete(child)
        try:
            await api.get(CONFIG_MAP, "default/child")
            self.saw.append("still there")
        except NotFound:
            self.saw.append("gone")
        self.saw.append(f"{len(await api.list(CONFIG_MAP))} in the list")
        return None


@pytest.mark.parametrize(
    ("guards", "saw"),
    [(ON, ["gone", "0 in the list"]), (replace(ON, read_your_writes=False), ["still there", "1 in the list"])],
)
def test_read_your_writes_is_about_deletes_too(guards: Guards, saw: list[str]) -> None:
    controller = Replaces()
    manager = InProcessManager(cluster(gadget("a"), config_map("child")), [controller], guards=guards)
    manager.feed.pump(CONFIG_MAP)
    manager.feed.held.add(CONFIG_MAP)
    manager.step()
    assert controller.saw == saw


def test_a_deleted_object_that_waits_for_a_finalizer_is_not_hidden() -> None:
    held = config_map("child")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    controller = Replaces()
    InProcessManager(cluster(gadget("a"), held), [controller]).step()
    assert controller.saw == ["still there", "1 in the list"]


def recreated_meanwhile(guards: Guards) -> Cluster:
    """A reconcile deletes a child that it read; meanwhile somebody replaced it with another of the same name."""
    world = cluster(config_map("child", made="first"))
    api = Api(InProcess(world), guards=guards)

    async def run() -> None:
        child = await api.get(CONFIG_MAP, "default/child")
        world.delete(CONFIG_MAP, "child")
        world.create(config_map("child", made="second"))
        await api.delete(child)

    drive(run())  # type: ignore[arg-type]
    return world


def test_delete_preconditions_another_object_of_the_same_name_is_not_hit() -> None:
    with pytest.raises(Conflict, match="the UID in the precondition"):
        recreated_meanwhile(ON)


def test_without_delete_preconditions_the_wrong_object_is_deleted() -> None:
    assert recreated_meanwhile(replace(ON, delete_preconditions=False)).list(CONFIG_MAP) == []


def condition(name: str) -> dict[str, str]:
    return {"type": name, "status": "True", "reason": "Yes", "message": ""}


def two_writers(guards: Guards) -> list[str]:
    """Two controllers add a condition each, both from what they read first."""
    world = cluster(gadget("a"))
    one, two = (Api(InProcess(world), guards=guards, manager=name) for name in ("one", "two"))

    async def run() -> None:
        mine, theirs = await one.get(GADGET, "default/a"), await two.get(GADGET, "default/a")
        for api, obj, name in ((two, theirs, "Theirs"), (one, mine, "Mine")):
            base = copy_json(obj)
            obj["status"] = {"conditions": [condition(name)]}
            await api.status.patch(obj, merge_from(base))

    drive(run())  # type: ignore[arg-type]
    return [condition["type"] for condition in world.get(GADGET, "a")["status"]["conditions"]]


def test_locked_status_a_stale_write_is_refused() -> None:
    with pytest.raises(Conflict):
        two_writers(ON)


def test_without_locked_status_the_condition_of_another_controller_is_erased() -> None:
    assert two_writers(replace(ON, locked_status=False)) == ["Mine"]


def two_finalizers(guards: Guards, *, lock: bool | None = None) -> list[str]:
    """Two controllers add a finalizer each, both from what they read first."""
    world = cluster(gadget("a"))
    one, two = (Api(InProcess(world), guards=guards, manager=name) for name in ("one", "two"))

    async def run() -> None:
        mine, theirs = await one.get(GADGET, "default/a"), await two.get(GADGET, "default/a")
        for api, obj, name in ((two, theirs, "example.com/theirs"), (one, mine, "example.com/mine")):
            base = copy_json(obj)
            obj["metadata"]["finalizers"] = [name]
            await api.patch(obj, merge_from(base, lock=lock))

    drive(run())  # type: ignore[arg-type]
    finalizers: list[str] = world.get(GADGET, "a")["metadata"]["finalizers"]
    return finalizers


def test_locked_status_a_stale_list_of_finalizers_is_refused() -> None:
    with pytest.raises(Conflict):
        two_finalizers(ON)


def test_without_locked_status_the_finalizer_of_another_controller_is_erased() -> None:
    assert two_finalizers(replace(ON, locked_status=False)) == ["example.com/mine"]
    assert two_finalizers(ON, lock=False) == ["example.com/mine"]


def test_locked_status_leaves_patches_of_single_fields_unlocked() -> None:
    world = cluster(gadget("a"))
    api = Api(InProcess(world), guards=ON)

    async def run() -> None:
        obj = await api.get(GADGET, "default/a")
        base = copy_json(obj)
        world.patch(GADGET, "a", {"metadata": {"labels": {"theirs": "1"}}})
        obj["metadata"]["labels"] = {"mine": "1"}
        await api.patch(obj, merge_from(base))

    drive(run())  # type: ignore[arg-type]
    assert world.get(GADGET, "a")["metadata"]["labels"] == {"mine": "1", "theirs": "1"}


def writes_after_losing_the_lease(guards: Guards) -> tuple[list[str], Metrics]:
    """A leader sleeps past its lease, another one takes over, and the first goes on where it was."""
    now = 0.0
    metrics = Metrics()
    with BackgroundServer(cluster(config_map("c")).state) as server:

        async def run() -> None:
            nonlocal now
            backend = CachedBackend(HttpBackend(server.url), guards, metrics=metrics)
            a, b = (
                Elector(backend.http, LeaderElection("lead"), identity, clock=lambda: now) for identity in ("a", "b")
            )
            await a.try_once()
            await b.try_once()
            backend.fence = Fence(a)
            api = Api(backend, guards=guards)
            config = await api.live.get(CONFIG_MAP, "default/c")
            now = 16.0  # the machine was suspended
            assert await b.try_once()
            config["data"] = {"by": "a"}
            try:
                await api.update(config)
            finally:
                await backend.close()

        try:
            asyncio.run(run())
        except LostLease as refused:
            return [str(refused)], metrics
        return [server.cluster.get(CONFIG_MAP, "c")["data"]["by"]], metrics


def test_fencing_a_former_leader_does_not_write() -> None:
    (said,), metrics = writes_after_losing_the_lease(ON)
    assert "not sent: the lease of epoch 0 was not renewed in time" in said
    assert metrics.refused.get(guard="fencing") == 1


def test_without_fencing_it_does() -> None:
    assert writes_after_losing_the_lease(replace(ON, fencing=False))[0] == ["a"]
