"""Timers fire in the order of their seconds when nothing else is left to do; one that fires earlier perturbs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, Stamps
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, check, update
from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.program.symbols import Assumption
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Reductions
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.predicates import LabelChanged, Predicate

W = Key("default", "w")
SLOW, FAST = Key("default", "slow"), Key("default", "fast")


def widget(name: str, **spec: Any) -> dict[str, Any]:
    """A widget with a name."""
    return {**WIDGET, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


class Waits(Controller):
    """Looks again after as many seconds as the widget says."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Wait."""
        widget = await api.get(self.kind, request)
        return Result(requeue_after=widget["spec"]["seconds"])


def _scenario(*controllers: Controller, objects: list[dict[str, Any]], **bounds: Any) -> Scenario:
    given = Bounds(**{"faults": 0, "lag": 0, **bounds})
    return Scenario(controllers, crds=[CRD], objects=objects, bounds=given, guards=UNGUARDED)


def _after(model: Model, *steps: Step) -> World:
    world = model.initial()
    for step in steps:
        assert step in model.steps(world)
        world = model.next(world, step).world
    return world


def _reconciled(request: Key, index: int = 0) -> tuple[Step, Step]:
    return Step("start", index, request), Step("call", index, request)


class WaitsOnce(Waits):
    """Waits once for each widget, and looks again when it is marked."""

    name = "waits"
    memory = ("seen",)

    def __init__(self) -> None:
        """Nothing was seen."""
        self.seen: list[str] = []

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Wait the first time."""
        result = await super().reconcile(request, api)
        if request.name in self.seen:
            return Result()
        self.seen.append(request.name)
        return result


def test_a_timer_that_changes_nothing_does_not_hold_up_a_longer_one() -> None:
    model = Model(_scenario(Waits(), objects=[widget("slow", seconds=60), widget("fast", seconds=5)]))
    world = _after(model, *_reconciled(SLOW), *_reconciled(FAST))
    assert [model.next(world, Step("timer", 0, request)).cost for request in (FAST, SLOW)] == [0, 0]
    # While the shorter one is reconciled, the instance has something to do.
    for step in (Step("timer", 0, FAST), Step("start", 0, FAST)):
        world = model.next(world, step).world
        assert model.next(world, Step("timer", 0, SLOW)).cost == 1
    world = model.next(world, Step("call", 0, FAST)).world
    assert model.next(world, Step("timer", 0, SLOW)).cost == 0


def test_timers_fire_in_the_order_of_their_seconds() -> None:
    model = Model(_scenario(WaitsOnce(), objects=[widget("slow", seconds=60), widget("fast", seconds=5)]))
    world = _after(model, *_reconciled(SLOW), *_reconciled(FAST))
    assert world.instances[0].timers == {(60.0, SLOW), (5.0, FAST)}
    fast, slow = (model.next(world, Step("timer", 0, request)) for request in (FAST, SLOW))
    assert (fast.cost, slow.cost) == (0, 1)
    assert fast.text == "the timer of waits for default/fast fires (after 5 s)"
    assert slow.text == "the timer of waits for default/slow fires early (after 60 s)"
    assert fast.world.instances[0].queue == {FAST}
    assert fast.world.instances[0].timers == {(60.0, SLOW)}
    # Once the shorter one is gone, the longer one is due; and not while the other request waits in the queue.
    assert model.next(fast.world, Step("timer", 0, SLOW)).cost == 1
    world = fast.world
    for step in _reconciled(FAST):
        world = model.next(world, step).world
    assert model.next(world, Step("timer", 0, SLOW)).cost == 0


def test_timers_of_the_same_length_fire_in_any_order() -> None:
    model = Model(_scenario(Waits(), objects=[widget("slow", seconds=5), widget("fast", seconds=5)]))
    world = _after(model, *_reconciled(SLOW), *_reconciled(FAST))
    assert [model.next(world, Step("timer", 0, request)).cost for request in (FAST, SLOW)] == [0, 0]


def test_a_timer_is_early_while_an_instance_has_something_else_to_do() -> None:
    model = Model(_scenario(Waits(), objects=[widget("slow", seconds=5), widget("fast", seconds=5)]))
    queued = _after(model, *_reconciled(SLOW))
    assert model.next(queued, Step("timer", 0, SLOW)).cost == 1
    running = _after(model, *_reconciled(SLOW), Step("start", 0, FAST))
    assert model.next(running, Step("timer", 0, SLOW)).cost == 1


def test_a_timer_is_early_while_an_event_is_undelivered() -> None:
    scenario = _scenario(Waits(), objects=[widget("w", seconds=5)], lag=1)
    model = Model(
        Scenario(
            [Waits()],
            crds=[CRD],
            objects=scenario.objects,
            bounds=scenario.bounds,
            actions=[update(widget("w"), spec={"seconds": 6})],
            guards=UNGUARDED,
        )
    )
    world = _after(model, *_reconciled(W))
    assert model.next(world, Step("timer", 0, W)).cost == 0
    world = model.next(world, Step("act")).world
    assert model.next(world, Step("timer", 0, W)).cost == 1


class Others(Waits):
    """Another controller that waits."""


def test_a_timer_is_early_while_another_instance_has_a_shorter_one_or_something_to_do() -> None:
    model = Model(_scenario(Waits(), Others(), objects=[widget("w", seconds=5)]))
    alone = _after(model, *_reconciled(W))
    assert model.next(alone, Step("timer", 0, W)).cost == 1
    both = _after(model, *_reconciled(W), *_reconciled(W, 1))
    assert [model.next(both, Step("timer", index, W)).cost for index in (0, 1)] == [0, 0]


class Hurries(Controller):
    """Asks for a longer and a longer time."""

    kind = KIND
    memory = ("seconds",)
    seconds = 0

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Wait."""
        del request, api
        self.seconds += 5
        return Result(requeue_after=self.seconds)


def test_of_two_timers_for_one_request_the_shorter_one_stays() -> None:
    model = Model(
        Scenario(
            [Hurries()],
            crds=[CRD],
            objects=[WIDGET],
            actions=[update(WIDGET, spec={"a": 1})],
            bounds=Bounds(faults=0, lag=0),
            guards=UNGUARDED,
        )
    )
    world = _after(model, Step("start", 0, W), Step("act"), Step("start", 0, W))
    assert world.instances[0].timers == {(5.0, W)}


class Beats(Controller):
    """Writes the time whenever its timer fires: a heartbeat."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Predicate]] = {KIND: LabelChanged()}

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Stamp."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"beat": api.now()}
        await api.status.patch(widget, merge_from(base))
        return Result(requeue_after=30)


def test_a_heartbeat_by_requeue_after_settles() -> None:
    verdict = check(_scenario(Beats(), objects=[WIDGET]))
    assert verdict.ok, verdict
    assert verdict.exhausted
    assert verdict.final_states


class Alternates(Controller):
    """Toggles a switch whenever its timer fires."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Predicate]] = {KIND: LabelChanged()}

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Toggle."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        await api.status.patch(widget, merge_from(base))
        return Result(requeue_after=30)


def test_what_a_timer_writes_again_and_again_settles_until_it_fires() -> None:
    verdict = check(_scenario(Alternates(), objects=[WIDGET]))
    assert verdict.ok, verdict
    assert sorted(Cluster(state=state).get(KIND, "w")["status"]["on"] for state in verdict.final_states) == [
        False,
        True,
    ]


def test_a_stamp_of_the_time_on_every_reconcile_never_settles() -> None:
    verdict = check(_scenario(Stamps(), objects=[WIDGET]))
    assert [violation.property for violation in verdict.violations] == ["never settles"]


class StampsOnce(Stamps):
    """Writes the time once."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Stamp, unless there is one."""
        widget = await api.get(self.kind, request)
        if not widget.get("status"):
            await super().reconcile(request, api)


def test_a_stamp_that_is_written_once_settles() -> None:
    verdict = check(_scenario(StampsOnce(), objects=[WIDGET], lag=1))
    assert verdict.ok, verdict
    assert verdict.exhausted


class Blind(Controller):
    """Follows widgets that belong to a config map; there are none."""

    kind = "ConfigMap/v1"
    owns = (KIND,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Do nothing."""


class Late(Controller):
    """Copies the size when its timer fires, and looks at nothing else that happens."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Predicate]] = {KIND: LabelChanged()}
    memory = ("waited",)
    waited = False

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Wait once, then copy."""
        if not self.waited:
            self.waited = True
            return Result(requeue_after=5)
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"size": widget["spec"].get("size", 0)}
        await api.status.patch(widget, merge_from(base))
        return None


@pytest.mark.parametrize("deliveries", [True, False])
def test_a_timer_is_on_time_although_another_instance_was_sent_an_event_that_enqueues_nothing(deliveries: bool) -> None:
    """With and without reductions an unperturbed run can deliver the event before the timer fires."""
    scenario = Scenario(
        [Late(), Blind()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 1})],
        bounds=Bounds(faults=0, lag=1),
        guards=UNGUARDED,
        reductions=Reductions(deliveries=deliveries),
    )
    verdict = check(scenario)
    assert verdict.exhausted
    assert verdict.ok, verdict
    assert (verdict.baseline_states, len(verdict.final_states)) == (2, 2)


# Clocks


def _without(scenario: Scenario, *assumptions: Assumption) -> Model:
    """A model in which some assumptions were refuted."""
    knowledge = Knowledge(Model(scenario).initial().state.registry)
    for assumption in assumptions:
        knowledge.refute(assumption)
    return Model(scenario, knowledge)


def _fired(model: Model, world: World, seconds: float, *, is_early: bool = False) -> World:
    """The state after a timer of the first instance has been set and has fired."""
    waiting = world.with_instance(0, world.instances[0].changed(timers=frozenset({(seconds, W)})))
    return model.mechanics.timers.fired(waiting, 0, W, is_early=is_early)


def _passed(model: Model, world: World) -> str:
    """The seconds of the clock of a request; the first minute is enough."""
    start, now = (model.mechanics.timers.now(each, 0, W) for each in (model.initial(), world))
    assert start.endswith(":00Z")
    assert now[:-3] == start[:-3]
    return now[-3:-1]


def test_a_timer_advances_the_clock_of_its_request_the_first_two_times() -> None:
    model = _without(_scenario(Beats(), objects=[WIDGET]), Assumption.TIMELESS)
    world = model.initial()
    passed = []
    for _ in range(4):
        world = _fired(model, world, 5.0)
        passed.append(_passed(model, world))
    assert passed == ["05", "10", "10", "10"]
    assert model.mechanics.timers.now(world, 0, SLOW) == model.mechanics.timers.now(model.initial(), 0, W)


def test_a_timer_that_fires_early_advances_the_clock_once_and_leaves_time_for_a_later_one() -> None:
    model = _without(_scenario(Beats(), objects=[WIDGET]), Assumption.TIMELESS)
    once = _fired(model, model.initial(), 5.0, is_early=True)
    twice = _fired(model, once, 5.0, is_early=True)
    assert [_passed(model, world) for world in (once, twice, _fired(model, twice, 5.0))] == ["05", "05", "10"]


def test_a_fraction_of_a_second_counts_as_a_second() -> None:
    model = _without(_scenario(Beats(), objects=[WIDGET]), Assumption.TIMELESS)
    assert _passed(model, _fired(model, model.initial(), 2.5)) == "03"


def test_clocks_that_show_the_same_are_the_same_state() -> None:
    model = _without(_scenario(Beats(), objects=[WIDGET]), Assumption.TIMELESS)
    often = _fired(model, _fired(model, model.initial(), 5.0), 5.0)
    once = _fired(model, model.initial(), 10.0)
    assert dict(often.issued) == dict(once.issued)
    assert often.issued_sum == once.issued_sum != model.initial().issued_sum


def test_a_write_advances_the_clock_only_where_stamps_matter() -> None:
    scenario = _scenario(Beats(), objects=[WIDGET])
    for assumptions, passed in ((), "00"), ((Assumption.SETTLED_STAMPS,), "01"):
        model = _without(scenario, Assumption.TIMELESS, *assumptions)
        assert _passed(model, model.mechanics.timers.stamped(model.initial(), 0, W)) == passed


def test_the_time_can_be_asked_for_as_long_as_no_timer_has_fired() -> None:
    model = Model(_scenario(Stamps(), objects=[WIDGET]))
    world = _after(model, *_reconciled(W))
    assert model.programs[0].asks_time
    assert not model.layout.noticed.timer_has_fired
    assert model.mechanics.timers.now(world, 0, W) == model.mechanics.timers.now(model.initial(), 0, W)


# What an instance has to do before its timer


class Fails(Waits):
    """Fails for the widget that says so, and waits for the others; or only asks to look again."""

    result: ClassVar[Result | None] = None

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Wait or fail."""
        waits = await super().reconcile(request, api)
        if request == W:
            if self.result is None:
                raise RuntimeError("no")
            return self.result
        return waits


class LooksAgain(Fails):
    """Asks to look again at once."""

    result = Result(requeue=True)


@pytest.mark.parametrize(("controller", "cost"), [(Fails(), 1), (LooksAgain(), 0)])
def test_a_timer_is_early_while_a_retry_waits_that_does_more_than_look(controller: Controller, cost: int) -> None:
    model = Model(_scenario(controller, objects=[widget("w", seconds=5), widget("slow", seconds=5)]))
    world = _after(model, *_reconciled(W), *_reconciled(SLOW))
    assert world.instances[0].delayed == {W}
    assert model.next(world, Step("timer", 0, SLOW)).cost == cost


def test_others_are_idle_whatever_an_instance_has_to_do_itself() -> None:
    model = Model(_scenario(Waits(), Others(), objects=[widget("w", seconds=5)]))
    world = _after(model, *_reconciled(W, 1))
    assert world.instances[0].queue == {W}
    assert model.mechanics.timers.others_are_idle(world, 0, 5.0)
    assert not model.mechanics.timers.others_are_idle(world, 1, 5.0)


class ReadsAnother(Waits):
    """Reads a kind that it does not declare."""

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Read, then wait."""
        await api.list("ConfigMap/v1")
        return await super().reconcile(request, api)


def test_an_undelivered_event_of_a_kind_that_is_not_declared_does_not_make_a_timer_early() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    scenario = Scenario(
        [ReadsAnother()],
        crds=[CRD],
        objects=[widget("w", seconds=5), config_map],
        actions=[update(config_map, data={"a": "b"})],
        bounds=Bounds(faults=0, lag=1),
        guards=UNGUARDED,
    )

    def cost(model: Model) -> int:
        world = _after(model, Step("start", 0, W), Step("call", 0, W), Step("call", 0, W), Step("act"))
        assert world.undelivered(0, 1, "configmaps")
        return model.next(world, Step("timer", 0, W)).cost

    assert restarted(scenario, cost) == 0
