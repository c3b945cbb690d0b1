"""The transition function: refused actions, perturbations, and the guard of concurrent reconciles."""

from __future__ import annotations

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import BadScenario, Bounds, Scenario, check, create, delete, update
from kontend.explore.model.answer import Refusal
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
from kontend.explore.model.step import Step
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

W = Key("default", "w")
OTHER = {**WIDGET, "metadata": {"name": "other", "namespace": "default"}}


class Deletes(Controller):
    """Deletes the widget that it reconciles."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Delete."""
        try:
            await api.delete(await api.get(self.kind, request))
        except NotFound:
            return


def test_a_refused_action_is_consumed_and_the_next_one_follows() -> None:
    """The update is possible before the delete; where it is refused, the create is still taken."""
    scenario = Scenario(
        [Deletes()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 1}), create({**OTHER, "spec": {"late": True}})],
        bounds=Bounds(faults=0, lag=0),
        guards=UNGUARDED,
    )
    model = Model(scenario)
    world = model.initial()
    for step in (Step("start", 0, W), Step("call", 0, W), Step("call", 0, W)):
        world = model.next(world, step).world
    refused = model.next(world, Step("act"))
    assert refused.refused == Refusal(404, "NotFound", 'widgets.example.com "w" not found')
    assert refused.line == 'the user changes Widget default/w: spec: refused (widgets.example.com "w" not found)'
    assert refused.world.acted == (1,)
    created = model.next(refused.world, Step("act"))
    assert created.world.acted == (2,)
    assert Cluster(state=created.world.state).get(KIND, "other")
    assert check(scenario).exhausted


def test_a_refused_action_perturbs_only_in_the_middle_of_a_reconcile() -> None:
    """It changes nothing, so controllers need not have settled since the user's last change of the object."""
    scenario = Scenario(
        [Widgets()], crds=[CRD], objects=[], actions=[create(WIDGET), create(WIDGET)], bounds=Bounds(faults=0, lag=1)
    )
    model = Model(scenario)
    created = model.next(model.initial(), Step("act")).world
    assert model.mechanics.users.cost(created, Step("act")) == 1
    again = model.next(created, Step("act"))
    assert again.refused is not None
    assert again.cost == 0
    delivered = model.next(created, Step("deliver", 0, KIND)).world
    started = model.next(delivered, Step("start", 0, W)).world
    assert model.next(started, Step("act")).cost == 1


def test_an_action_between_reconciles_is_no_perturbation_and_one_in_the_middle_is() -> None:
    scenario = Scenario(
        [Widgets()], crds=[CRD], objects=[WIDGET], actions=[update(WIDGET, spec={"a": 1})], guards=UNGUARDED
    )
    model = Model(scenario)
    world = model.initial()
    assert model.next(world, Step("act")).cost == 0
    assert model.next(model.next(world, Step("start", 0, W)).world, Step("act")).cost == 1


def test_a_start_while_another_reconcile_is_in_flight_is_a_perturbation() -> None:
    model = Model(double_plan(Widgets(), lag=0, concurrent=2))
    first = model.next(model.initial(), Step("start", 0, W))
    assert first.cost == 0
    assert model.next(first.world, Step("start", 1, W)).cost == 1


class Parallel(LockedWidgets):
    """Reconciles two objects at once."""

    max_concurrent = 2


def test_an_instance_reconciles_several_objects_at_once_but_none_twice() -> None:
    scenario = Scenario(
        [Parallel()], crds=[CRD], objects=[WIDGET, OTHER], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED
    )
    model = Model(scenario)
    world = model.next(model.initial(), Step("start", 0, W)).world
    assert Step("start", 0, Key("default", "other")) in model.steps(world)
    world = model.next(world, Step("call", 0, W)).world
    requeued = world.with_instance(0, world.instances[0].changed(queue=frozenset({W})))
    assert Step("start", 0, W) not in model.steps(requeued)
    assert check(scenario).ok


def test_reconciles_at_once_with_a_memory_are_refused() -> None:
    class Remembers(Parallel):
        memory = ("seen",)
        seen = 0

    scenario = Scenario([Remembers()], crds=[CRD], objects=[WIDGET, OTHER], bounds=Bounds(faults=0, lag=0))
    with pytest.raises(BadScenario, match=r"Remembers: memory = \('seen',\) is shared .* with max_concurrent = 1"):
        check(scenario)


def test_without_max_concurrent_an_instance_reconciles_one_object_at_a_time() -> None:
    scenario = Scenario(
        [LockedWidgets()], crds=[CRD], objects=[WIDGET, OTHER], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED
    )
    model = Model(scenario)
    world = model.next(model.initial(), Step("start", 0, W)).world
    assert all(step.action != "start" for step in model.steps(world))


def test_a_step_that_does_not_exist_is_refused() -> None:
    model = Model(double_plan(Widgets()))
    with pytest.raises(BadScenario, match="does not exist"):
        model.next(model.initial(), Step("fly", 0))
    with pytest.raises(BadScenario, match=r"step 1, .* is not enabled: the scenario or its controllers have changed"):
        replay(model, [Step("act")])


def test_a_deleted_object_that_is_enqueued_is_reconciled_as_not_found() -> None:
    scenario = Scenario(
        [Deletes()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[delete(WIDGET)],
        bounds=Bounds(faults=0, lag=1),
        guards=UNGUARDED,
    )
    assert check(scenario).exhausted
