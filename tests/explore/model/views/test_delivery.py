"""Delivery of events: in order, forced by the bound on lag, and several as one by a relist."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, Verdict, check, create, delete, eventually, update
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request
from kontend.runtime.predicates import GenerationChanged


class Marks(Controller):
    """Marks every widget that is not marked."""

    kind = KIND
    name = "marks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark the widget."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"marked": True}}))


class MarksGenerations(Marks):
    """The same, but only a change of the generation enqueues a request."""

    name = "marks"
    predicates: ClassVar = {KIND: GenerationChanged()}


def _labelled(*values: str) -> list[Any]:
    return [update(WIDGET, metadata={"labels": {"a": value}}) for value in values]


def _model(controller: Controller, *actions: Any, lag: int) -> Model:
    scenario = Scenario(
        [controller],
        crds=[CRD],
        objects=[WIDGET],
        actions=list(actions),
        bounds=Bounds(faults=0, lag=lag),
        guards=UNGUARDED,
    )
    return Model(scenario)


RELIST, DELIVER, ACT = Step("relist", 0, KIND), Step("deliver", 0, KIND), Step("act")


def test_events_are_delivered_one_by_one_in_order() -> None:
    model = _model(Marks(), *_labelled("1", "2"), lag=2)
    world = model.initial()
    for _ in range(2):
        world = model.next(world, ACT).world
    assert len(world.undelivered(0, 0, model.layout.resources[0][0])) == 2
    first = model.next(world, DELIVER)
    assert first.line == "marks sees MODIFIED Widget default/w"
    assert len(first.world.undelivered(0, 0, model.layout.resources[0][0])) == 1
    second = model.next(first.world, DELIVER).world
    assert DELIVER not in model.steps(second)


def test_a_write_beyond_the_bound_on_lag_forces_the_oldest_event() -> None:
    model = _model(Marks(), *_labelled("1", "2"), lag=1)
    world = model.next(model.initial(), ACT).world
    transition = model.next(world, ACT)
    assert transition.line == "the user changes Widget default/w: metadata, and marks sees MODIFIED Widget default/w"
    assert len(transition.world.undelivered(0, 0, model.layout.resources[0][0])) == 1


def test_a_relist_is_enabled_only_where_several_events_are_about_one_object() -> None:
    model = _model(MarksGenerations(), *_labelled("1", "2"), create({**WIDGET, "metadata": {"name": "x"}}), lag=3)
    world = model.next(model.initial(), ACT).world
    assert RELIST not in model.steps(world)
    world = model.next(world, ACT).world
    assert RELIST in model.steps(world)
    relist = model.next(model.next(world, ACT).world, RELIST)
    assert relist.cost == 1
    assert relist.line == "marks lists Widget again: marks sees MODIFIED Widget default/w and ADDED Widget default/x"
    assert relist.world.undelivered(0, 0, model.layout.resources[0][0]) == []
    assert relist.world.instances[0].queue == {Key("default", "w"), Key("default", "x")}


def test_a_relist_that_enqueues_what_deliveries_enqueue_is_not_enabled() -> None:
    model = _model(Marks(), *_labelled("1", "2"), lag=2)
    world = model.initial()
    for _ in range(2):
        world = model.next(world, ACT).world
    assert RELIST not in model.steps(world)


class MarksAndOwns(Marks):
    """The same, for a controller with children."""

    owns = ("ConfigMap/v1",)


def test_a_relist_of_children_may_hide_the_owner_that_one_had_in_between() -> None:
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    acts = [create(child), update(child, data={"a": "1"})]
    model = _model(MarksAndOwns(), *acts, lag=3)
    relist = Step("relist", 0, "ConfigMap/v1")
    world = model.next(model.initial(), ACT).world
    assert relist not in model.steps(world)
    assert relist in model.steps(model.next(world, ACT).world)


def test_a_relist_misses_an_object_that_came_and_went() -> None:
    other = {**WIDGET, "metadata": {"name": "x", "namespace": "default"}}
    model = _model(Marks(), create(other), delete(other), lag=2)
    world = model.initial()
    for _ in range(2):
        world = model.next(world, ACT).world
    assert RELIST in model.steps(world)
    assert model.next(world, RELIST).world.instances[0].queue == {Key("default", "w")}


def test_a_delete_and_a_create_are_one_update_for_a_relist() -> None:
    model = _model(MarksGenerations(), delete(WIDGET), create(WIDGET), lag=2)
    world = model.initial()
    for _ in range(2):
        world = model.next(world, ACT).world
    transition = model.next(world, RELIST)
    assert transition.line == "marks lists Widget again: marks sees MODIFIED Widget default/w"


def test_an_object_that_comes_and_goes_is_not_seen_by_a_relist() -> None:
    other = {**WIDGET, "metadata": {"name": "x", "namespace": "default"}}
    model = _model(Marks(), create(other), delete(other), lag=2)
    world = model.initial()
    for _ in range(2):
        world = model.next(world, ACT).world
    assert model.next(world, RELIST).line == "marks lists Widget again: marks sees nothing new"


def _marked(cluster: Cluster) -> bool:
    return all(widget.get("status") for widget in cluster.list(KIND))


def _recreated(controller: Controller, *, lag: int) -> Verdict:
    return check(
        Scenario(
            [controller],
            crds=[CRD],
            objects=[WIDGET],
            actions=[delete(WIDGET), create(WIDGET)],
            properties=[eventually(_marked)],
            bounds=Bounds(faults=0, lag=lag),
            guards=UNGUARDED,
        )
    )


def test_a_generation_predicate_drops_a_recreated_object_that_a_relist_shows_as_an_update() -> None:
    """Old and new object have generation 1, so that the new one is never reconciled."""
    verdict = _recreated(MarksGenerations(), lag=2)
    (violation,) = [violation for violation in verdict.violations if violation.property == "_marked"]
    assert any("lists Widget again" in line for line in violation.trace)
    assert verdict.exhausted


@pytest.mark.parametrize(("controller", "lag"), [(Marks, 2), (MarksGenerations, 1)])
def test_without_the_predicate_or_without_a_relist_the_recreated_object_is_reconciled(
    controller: type[Controller], lag: int
) -> None:
    assert "_marked" not in {violation.property for violation in _recreated(controller(), lag=lag).violations}
