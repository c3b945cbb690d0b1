"""Deliveries in every combination that makes a difference, each of them once."""

from __future__ import annotations

from typing import Any, ClassVar

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.reduction.deliveries import Deliveries
from kontend.explore.reduction.macro_step import MacroStep
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.predicates import GenerationChanged

MAP = "ConfigMap/v1"
CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "w", "namespace": "default"},
}
OTHER: dict[str, Any] = {**WIDGET, "metadata": {"name": "other", "namespace": "default"}}


class Watches(Controller):
    """Watches widgets and the config maps that it owns, and does nothing. A predicate looks at the widgets' events."""

    kind = KIND
    owns: ClassVar = [MAP]
    predicates: ClassVar = {KIND: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look."""
        await api.get(self.kind, request)


def _after(*changed: dict[str, Any], lag: int) -> tuple[Model, World]:
    """A state after a change of a label of each of these objects, none of them delivered."""
    actions = [update(obj, metadata={"labels": {"n": str(number)}}) for number, obj in enumerate(changed)]
    bounds = Bounds(faults=0, lag=lag)
    objects = [WIDGET, OTHER, CONFIG_MAP]
    model = Model(Scenario([Watches()], crds=[CRD], objects=objects, actions=actions, bounds=bounds, guards=UNGUARDED))
    world = model.initial()
    for _ in changed:
        world = model.next(world, Step("act")).world
    return model, world


def _schedules(model: Model, world: World) -> list[list[str]]:
    kinds = list(range(len(model.layout.kinds[0])))
    return [
        [f"{step.action} {step.subject}" for step in macro.steps]
        for macro in Deliveries(model).of(MacroStep(world), 0, kinds)
    ]


def test_no_delivery_is_the_only_choice_where_nothing_is_on_its_way() -> None:
    model = _after(lag=1)[0]
    assert _schedules(model, model.initial()) == [[]]


def test_each_set_of_events_is_delivered_in_one_order_only() -> None:
    schedules = _schedules(*_after(WIDGET, CONFIG_MAP, lag=1))
    assert sorted(map(len, schedules)) == [0, 1, 1, 2]
    assert len({frozenset(schedule) for schedule in schedules}) == 4
    assert schedules[0] == []


def test_only_several_events_of_one_object_can_become_one() -> None:
    model, world = _after(WIDGET, OTHER, lag=2)
    assert not Deliveries(model).can_relist(world, 0)
    model, world = _after(WIDGET, WIDGET, lag=2)
    assert Deliveries(model).can_relist(world, 0)
    model, world = _after(WIDGET, lag=2)
    assert not Deliveries(model).can_relist(world, 0)


def test_a_view_within_a_lag_of_one_has_at_most_one_event_of_an_object() -> None:
    model, world = _after(WIDGET, WIDGET, lag=1)
    assert not Deliveries(model).can_relist(world, 0)
