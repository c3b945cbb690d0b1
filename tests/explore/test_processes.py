"""Processes: their controllers share views, wait for the own writes of each other, and crash together."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from definitions import definition
from kontend import AlreadyExists, Api, Cluster, Controller, Guards, Request
from kontend.explore import BadScenario, Bounds, Reductions, Scenario, check, never, update
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache

WIDGET = "Widget.example.com/v1"
MAP = "ConfigMap/v1"
CRD = definition("Widget")
OBJECT: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}
W = Key("default", "w")


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def _ensure(api: Api, name: str) -> None:
    with suppress(AlreadyExists):
        await api.create(_map(name))


class Announces(Controller):
    """Creates a config map once it has seen the new size."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        """Announce."""
        if (await api.get(WIDGET, request))["spec"]["size"] == 2:
            await _ensure(api, "announced")


def nothing(obj: Any, cache: Cache) -> list[Key]:
    """Widgets enqueue nothing."""
    del obj, cache
    return []


class Believes(Controller):
    """Once the config map is there, notes the size that its own cache shows."""

    kind = MAP
    watches: ClassVar = {WIDGET: nothing}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Note an old size."""
        if request.name == "announced" and (await api.get(WIDGET, "default/w"))["spec"]["size"] == 1:
            await _ensure(api, "old")


def is_old(cluster: Cluster) -> bool:
    """The announcement was believed with an old size."""
    return any(obj["metadata"]["name"] == "old" for obj in cluster.list(MAP))


def _scenario(**changes: Any) -> Scenario:
    scenario = Scenario(
        controllers=[Announces(), Believes()],
        crds=[CRD],
        objects=[OBJECT],
        actions=[update(OBJECT, spec={"size": 2})],
        properties=[never(is_old)],
        bounds=Bounds(faults=0),
    )
    return replace(scenario, **changes)


APART = {"one": ["announces"], "two": ["believes"]}


@pytest.mark.parametrize("reductions", [Reductions(), Reductions.none()])
def test_controllers_of_one_process_have_seen_the_same(reductions: Reductions) -> None:
    assert check(_scenario(reductions=reductions))


def test_controllers_of_two_processes_have_caches_of_their_own() -> None:
    verdict = check(_scenario(processes=APART))
    assert [violation.property for violation in verdict.violations if violation.property == "is_old"] == ["is_old"]


def test_an_event_reaches_all_controllers_of_a_process_in_one_step() -> None:
    model = Model(_scenario(controllers=[Announces(), type("Second", (Announces,), {})()]))
    assert (model.layout.names, [process.name for process in model.layout.processes]) == (
        ["announces", "second"],
        ["operator"],
    )
    world = model.initial()
    for name in ("announces", "second"):
        index = model.names.index(name)
        world = model.next(world, Step("start", index, W)).world
        world = model.next(world, Step("call", index, W)).world
    assert not any(instance.queue for instance in world.instances)
    world = model.next(world, Step("act")).world
    delivered = model.next(world, Step("deliver", 0, WIDGET))
    assert [instance.queue for instance in delivered.world.instances] == [frozenset({W})] * 2
    assert delivered.text == "operator sees MODIFIED Widget default/w"


def test_a_crash_stops_all_controllers_of_a_process() -> None:
    model = Model(_scenario(controllers=[Announces(), type("Second", (Announces,), {})()], bounds=Bounds()))
    world = model.next(model.initial(), Step("start", 1, W)).world
    crash = model.next(world, Step("crash", 0))
    assert crash.text == "operator crashes while it reconciles default/w and restarts"
    assert [instance.running for instance in crash.world.instances] == [(), ()]
    assert [step.instance for step in model.steps(world) if step.action == "crash"] == [0]


def test_a_cached_read_waits_for_the_write_of_another_controller_of_the_process() -> None:
    class Writes(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            """Write."""
            obj = await api.live.get(WIDGET, request)
            if obj["spec"]["size"] == 1:
                obj["spec"]["size"] = 2
                await api.update(obj)

    model = Model(_scenario(controllers=[Writes(), Announces()], actions=[], guards=Guards(fencing=False)))
    world = model.initial()
    for step in (Step("start", 0, W), Step("call", 0, W), Step("start", 1, W), Step("call", 0, W)):
        world = model.next(world, step).world
    assert Step("call", 1, W) not in model.steps(world)
    world = model.next(world, Step("deliver", 0, WIDGET)).world
    assert Step("call", 1, W) in model.steps(world)


def test_there_are_as_many_copies_of_all_controllers_of_a_process() -> None:
    model = Model(_scenario(bounds=Bounds(instances={"believes": 2})))
    assert model.names == ["announces#1", "believes#1", "announces#2", "believes#2"]
    assert [process.name for process in model.layout.processes] == ["operator#1", "operator#2"]


def test_built_in_controllers_run_in_a_process_of_their_own() -> None:
    scenario = _scenario(controllers=["deployment", Announces(), "replicaset", "scheduler"], actions=[], properties=[])
    layout = Model(scenario).layout
    assert [(process.name, [layout.names[index] for index in process.indexes]) for process in layout.processes] == [
        ("kube-controller-manager", ["deployment", "replicaset"]),
        ("announces", ["announces"]),
        ("scheduler", ["scheduler"]),
    ]


@pytest.mark.parametrize(
    ("processes", "instances", "message"),
    [
        ({"one": ["anounces"]}, {}, "no controller is called anounces (did you mean announces?)"),
        ({"one": ["announces"], "two": ["announces"]}, {}, "the controller announces is in 'one' and 'two'"),
        (["announces"], {}, "expected lists of controllers by the names of processes"),
        ({"one": "announces"}, {}, "expected lists of controllers by the names of processes"),
        (
            {},
            {"announces": 1, "believes": 2},
            "1 of announces and 2 of believes, but they run in one process, operator",
        ),
        ({}, {"beleives": 2}, "no controller is called beleives (did you mean believes?)"),
    ],
)
def test_processes_that_cannot_be_are_refused(processes: Any, instances: dict[str, int], message: str) -> None:
    with pytest.raises(BadScenario) as error:
        check(_scenario(processes=processes, bounds=Bounds(instances=instances)))
    assert message in str(error.value)
