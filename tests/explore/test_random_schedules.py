"""The explorer and the runtime mean the same on schedules that are drawn at random.

A schedule lets users act, holds events of a kind back, releases them and runs reconciles. It is followed by an
:class:`InProcessManager` and, step by step, by the model of the explorer. The controller writes down what it reads.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any, ClassVar, Final

import pytest

from explore.test_runtime_agrees import CM, CRD, OFF, ON, WIDGET, Managed, Reads, cm, names, value, written
from kontend.cluster.cluster import Cluster
from kontend.explore import Action, Bounds, Scenario, create, delete, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.kube.errors import ApiError
from kontend.runtime.client.api import Api
from kontend.runtime.guards import Guards

SEEDS: Final = range(50)
KINDS: Final = ("Widget.example.com/v1", CM)


class Scripted(Reads):
    """Makes the calls of a script, and writes down what it reads."""

    name = "reads"
    script: tuple[str, ...] = ()

    async def look(self, api: Api) -> str:
        """Make the calls."""
        seen = []
        for call in self.script:
            if call == "get":
                seen.append(await value(api))
            elif call == "list":
                seen.append(await names(api))
            elif call == "create":
                await api.create(cm(f"own-{self.runs}"))
            else:
                config_maps = await api.live.list(CM, namespace="default")
                if config_maps:
                    await api.delete(config_maps[0])
        return ", ".join(seen)


class Declared(Scripted):
    """Watches the config maps that it reads."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {CM: lambda _obj, _cache: ["default/w"]}


class Schedule:
    """A controller, actions and a schedule, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.controller: type[Scripted] = random.choice((Scripted, Declared))
        self.script = tuple(random.choice(("get", "list", "create", "delete")) for _ in range(random.randint(1, 4)))
        self.guards: Guards = random.choice((ON, OFF))
        there = True
        self.actions: list[Action] = []
        self.steps: list[tuple[str, str]] = []
        for _ in range(random.randint(3, 8)):
            step = random.choice(("run", "run", "act", "act", "hold", "release"))
            self.steps.append((step, random.choice(KINDS)))
            if step != "act":
                continue
            choice = random.choice(("widget", "map", "map"))
            if choice == "widget":
                self.actions.append(update(WIDGET, metadata={"labels": {"a": str(len(self.actions))}}))
            elif there and random.random() < 0.5:
                self.actions.append(update(cm("u"), data={"v": str(len(self.actions))}))
            else:
                self.actions.append(delete(cm("u")) if there else create(cm("u", str(len(self.actions)))))
                there = not there

    def made(self) -> Scripted:
        """The controller."""
        controller = self.controller()
        controller.script = self.script
        return controller


def _managed(schedule: Schedule) -> list[str]:
    run = Managed(schedule.made(), guards=schedule.guards)
    run.act(create(cm("u")))
    run.manager.poll()
    actions = iter(schedule.actions)
    for step, kind in schedule.steps:
        if step == "act":
            with suppress(ApiError):  # the controller may have deleted or created the object
                run.act(next(actions))
        elif step == "hold":
            run.hold(kind)
        elif step == "release":
            run.manager.feed.held.discard(kind)
        else:
            run.manager.step()
    return run.written


class _Followed:
    """The same schedule in the model of the explorer."""

    def __init__(self, schedule: Schedule) -> None:
        scenario = Scenario(
            [schedule.made()],
            crds=[CRD],
            objects=[WIDGET, cm("a")],
            actions=[create(cm("u")), *schedule.actions],
            bounds=Bounds(faults=0, lag=50),
            guards=schedule.guards,
        )
        self.model = Model(scenario)
        self.world: World = self.model.initial()
        self.held: set[str] = set()

    def take(self, step: Step) -> None:
        self.world = self.model.next(self.world, step).world

    def poll(self) -> None:
        """Deliver all events that are not held."""
        while True:
            free = [step for step in self._steps("deliver") if step.subject not in self.held]
            if not free:
                return
            self.take(free[0])

    def run(self) -> None:
        """Run a reconcile, if one is ready."""
        self.poll()
        starts = self._steps("start")
        if not starts:
            return
        self.take(starts[0])
        while self.world.instances[0].running:
            calls = self._steps("call")
            if calls:
                self.take(calls[0])
            else:  # a read waits for an own write, which is then let through
                kind = self.world.instances[0].running[0].node.calls[0].kind
                self.take(next(step for step in self._steps("deliver") if step.subject == kind))

    def _steps(self, action: str) -> list[Step]:
        return [step for step in self.model.steps(self.world) if step.action == action]


def _modelled(schedule: Schedule) -> list[str]:
    followed = _Followed(schedule)
    followed.take(Step("act"))
    followed.poll()
    for step, kind in schedule.steps:
        if step == "act":
            followed.take(Step("act"))
        elif step == "hold":
            followed.held.add(kind)
        elif step == "release":
            followed.held.discard(kind)
        else:
            followed.run()
    return written(Cluster(state=followed.world.state))


@pytest.mark.parametrize("seed", SEEDS)
def test_both_read_the_same(seed: int) -> None:
    assert _modelled(Schedule(seed)) == _managed(Schedule(seed))
