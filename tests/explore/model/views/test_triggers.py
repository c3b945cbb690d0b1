"""Triggers: predicates and mapping functions are called once for an event, with the views of their instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import BadScenario, Bounds, Scenario, create, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.model.views.triggers import Triggers
from kontend.kube.json_types import Object
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Mapper, Request
from kontend.runtime.guards import Guards

CM = "ConfigMap/v1"
ACT, DELIVER = Step("act"), Step("deliver", 0, CM)
W, V = Key("default", "w"), Key("default", "v")
OTHER = {**WIDGET, "metadata": {"name": "v", "namespace": "default", "labels": {"group": "b"}}}


def config(**data: str) -> dict[str, Any]:
    """A ConfigMap, which mapping functions get."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, "data": data}


class Mapped(Controller):
    """Is triggered by ConfigMaps through a mapping function."""

    kind = KIND

    def __init__(self, mapper: Mapper) -> None:
        self.watches = {CM: mapper}  # type: ignore[misc]
        self.indexes = {KIND: {"group": _groups}}  # type: ignore[misc]

    async def reconcile(self, request: Request, api: Api) -> None:
        """Do nothing."""


def _groups(widget: Object) -> list[str]:
    return [(widget["metadata"].get("labels") or {}).get("group", "none")]


def model_of(mapper: Mapper, *actions: Any, lag: int = 3, guards: Guards = UNGUARDED) -> Model:
    """A model with two widgets and a ConfigMap."""
    return Model(
        Scenario(
            [Mapped(mapper)],
            crds=[CRD],
            objects=[WIDGET, OTHER, config(a="0")],
            actions=list(actions),
            bounds=Bounds(faults=0, lag=lag),
            guards=guards,
        )
    )


def idle(model: Model) -> World:
    """The state in which every request of the first lists was reconciled."""
    world = model.initial()
    while world.instances[0].queue:
        world = model.next(world, Step("start", 0, min(world.instances[0].queue))).world
    return world


def after(model: Model, *steps: Step) -> World:
    """The idle state after some steps."""
    world = idle(model)
    for step in steps:
        world = model.next(world, step).world
    return world


def _first(obj: Object, cache: Cache) -> Iterable[str]:
    del cache
    return [f"default/{obj['data']['a']}"]


def _same_group(obj: Object, cache: Cache) -> Iterable[Key]:
    return [
        Key("default", widget["metadata"]["name"])
        for widget in cache.list(KIND, index=("group", obj["data"].get("group", "none")))
    ]


def _all_or_none(obj: Object, cache: Cache) -> Iterable[str]:
    """Hides that it has looked."""
    del obj
    try:
        return [f"default/{widget['metadata']['name']}" for widget in cache.list(KIND)]
    except BaseException:
        return []


def test_a_mapping_function_gets_the_object_before_and_after_a_change() -> None:
    model = model_of(_first, update(config(a="1"), data={"a": "1"}))
    assert after(model, ACT, DELIVER).instances[0].queue == {Key("default", "0"), Key("default", "1")}


def test_a_mapping_function_is_called_once_for_the_same_event() -> None:
    calls: list[str] = []

    def counted(obj: Object, cache: Cache) -> Iterable[str]:
        del cache
        calls.append(obj["data"]["a"])
        return ["default/w"]

    model = model_of(counted, update(config(), data={"a": "1"}))
    world = after(model, ACT)
    before = len(calls)
    for _ in range(3):
        assert model.next(world, DELIVER).world.instances[0].queue == {W}
    assert len(calls) == before + 2


@pytest.mark.parametrize("mapper", [_same_group, _all_or_none])
def test_it_is_known_whether_a_mapping_function_looks_at_other_objects(mapper: Mapper) -> None:
    looks = model_of(mapper, update(config(), data={"group": "b"}))
    world = after(looks, ACT)
    assert looks.mechanics.delivery.has_looked
    assert looks.mechanics.delivery.depends_on_order(world, 0)
    assert not looks.mechanics.delivery.depends_on_order(idle(looks), 0)
    blind = model_of(_first, update(config(), data={"a": "1"}))
    world = after(blind, ACT)
    assert not blind.mechanics.delivery.depends_on_order(world, 0)
    assert not blind.mechanics.delivery.has_looked


def test_a_change_to_come_counts_for_the_order() -> None:
    model = model_of(_same_group, update(config(), data={"group": "b"}), update(OTHER, spec={"size": 1}))
    world = after(model, ACT)
    changes = world.state.changes_since(idle(model).state.resource_version)
    assert model.mechanics.delivery.depends_on_order(idle(model), 0, changes)
    later = model.next(world, ACT).world
    of_widget = later.state.changes_since(world.state.resource_version)
    assert not model.mechanics.delivery.depends_on_order(idle(model), 0, of_widget)


def _same_named_group(obj: Object, cache: Cache) -> Iterable[Key]:
    return _same_group(obj, cache) if "group" in obj["data"] else ()


def test_a_mapping_function_sees_the_views_of_its_instance_with_their_indexes() -> None:
    moved = update(WIDGET, metadata={"labels": {"group": "b"}})
    model = model_of(_same_named_group, moved, update(config(), data={"group": "b"}))
    world = after(model, ACT, ACT)
    # The view of widgets does not show the first change yet.
    assert model.next(world, DELIVER).world.instances[0].queue == {V}
    informed = model.next(world, Step("deliver", 0, KIND)).world
    informed = informed.with_instance(0, informed.instances[0].changed(queue=frozenset()))
    assert model.next(informed, DELIVER).world.instances[0].queue == {V, W}


def _exactly_one(obj: Object, cache: Cache) -> Iterable[str]:
    """Enqueues a widget while just one ConfigMap is marked."""
    del obj
    return ["default/w"] if sum(known["data"].get("a") == "1" for known in cache.list(CM)) == 1 else []


@pytest.mark.parametrize(("mapper", "differs"), [(_exactly_one, True), (_all_or_none, False), (_first, False)])
def test_events_of_several_objects_are_relisted_only_where_that_enqueues_something_else(
    mapper: Mapper, differs: bool
) -> None:
    second = {**config(a="0"), "metadata": {"name": "d", "namespace": "default"}}
    model = model_of(mapper, create(second), update(config(), data={"a": "1"}), update(second, data={"a": "1"}))
    world = after(model, ACT, DELIVER, ACT)
    world = world.with_instance(0, world.instances[0].changed(queue=frozenset()))
    relist = Step("relist", 0, CM)
    assert relist not in model.steps(world)  # one event
    world = model.next(world, ACT).world
    assert (relist in model.steps(world)) is differs


def test_versions_count_only_where_code_reads_them() -> None:
    def by_version(obj: Object, cache: Cache) -> Iterable[str]:
        del cache
        return [f"default/{obj['metadata']['resourceVersion']}"]

    model = model_of(_first, update(config(), data={"a": "1"}), update(config(), data={"a": "0"}))
    world = after(model, ACT, ACT)
    one, two = world.undelivered(0, 1, model.layout.resources[0][1])
    for exact in (False, True):
        triggers = Triggers(Mapped(by_version), model.layout.server.resource, (KIND, CM), exact=exact)
        first = triggers.without_looking(world, CM, one.key, None, one.old)
        last = triggers.without_looking(world, CM, two.key, None, two.new)
        assert first is not None
        assert (first == last) is not exact


@pytest.mark.parametrize("raised", [KeyError("size"), ValueError("no")])
def test_a_mapping_function_that_raises_is_a_mistake_of_the_scenario(raised: Exception) -> None:
    def raises(obj: Object, cache: Cache) -> Iterable[str]:
        del cache
        if obj["data"]["a"] == "1":
            raise raised
        return []

    model = model_of(raises, update(config(), data={"a": "1"}))
    with pytest.raises(BadScenario, match=f"mapped: a predicate or a mapping function raised {type(raised).__name__}"):
        after(model, ACT, DELIVER)


def _mapped_to(*names: str) -> Callable[[Object, Cache], Iterable[str]]:
    return lambda obj, _: [f"default/{name}" for name in names if obj["data"].get("a") == "1"]


def test_events_that_enqueue_nothing_leave_a_state_settled() -> None:
    for names, settled in (((), True), (("w",), False)):
        model = model_of(_mapped_to(*names), update(config(), data={"a": "1"}))
        assert model.mechanics.delivery.is_settled(idle(model))
        assert not model.mechanics.delivery.is_settled(model.initial())
        assert model.mechanics.delivery.is_settled(after(model, ACT)) is settled
