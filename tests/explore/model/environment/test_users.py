"""Users: conditions, several at once, in any order, on subresources, retried."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Action, BadScenario, Bounds, Scenario, Writer, check, create, delete, patch, update
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.new_object import new_object
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}


class Copies(Controller):
    """Copies the size of a widget to its status."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        widget.setdefault("status", {})["size"] = widget.get("spec", {}).get("size", 0)
        await api.status.update(widget)


def _scenario(**more: Any) -> Scenario:
    return Scenario([Copies()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0), **more)


def _is_copied(cluster: Cluster) -> bool:
    return "size" in (cluster.get(KIND, "w").get("status") or {})


def _acts(model: Model, schedule: list[Step]) -> list[Step]:
    world = model.initial()
    for step in schedule:
        world = model.next(world, step).world
    return [step for step in model.steps(world) if step.action == "act"]


def test_an_action_with_a_condition_waits_for_it() -> None:
    model = Model(_scenario(actions=[update(WIDGET, spec={"size": 2}, when=_is_copied)]))
    key = model.initial().instances[0].queue
    (request,) = key
    start = [Step("start", 0, request), Step("call", 0, request)]
    assert _acts(model, start) == []
    assert _acts(model, [*start, Step("call", 0, request)]) == [Step("act")]


def test_users_act_independently_and_in_their_own_order() -> None:
    users = [Writer("person", [create(MAP), delete(MAP)]), Writer("scaler", [update(WIDGET, spec={"size": 2})])]
    model = Model(_scenario(writers=users))
    assert _acts(model, []) == [Step("act", at=0), Step("act", at=1)]
    assert _acts(model, [Step("act", at=1)]) == [Step("act", at=0)]
    assert model.next(model.initial(), Step("act", at=1)).text.startswith("the scaler changes Widget default/w")
    assert _acts(model, [Step("act", at=0), Step("act", at=0)]) == [Step("act", at=1)]


def test_a_user_without_an_order_takes_each_action_at_any_time() -> None:
    actions = [update(WIDGET, spec={"size": 2}), update(WIDGET, spec={"size": 3})]
    ordered = check(_scenario(writers=[Writer("scaler", actions)]))
    free = check(_scenario(writers=[Writer("scaler", actions, ordered=False)]))
    assert (len(ordered.final_states), len(free.final_states)) == (1, 2)


@pytest.mark.parametrize(
    ("second", "cost"),
    [
        (update(WIDGET, spec={"size": 3}), 1),
        (update(WIDGET, spec={"size": 3}, retry=True), 0),
        (update(WIDGET, spec={"size": 3}, when=lambda _: True), 0),
        (delete(WIDGET), 0),
        (create(MAP), 0),
    ],
    ids=["update", "update that is retried", "update with a condition", "delete", "another object"],
)
def test_a_change_of_an_object_that_controllers_have_not_dealt_with_yet_perturbs(second: Action, cost: int) -> None:
    model = Model(_scenario(actions=[update(WIDGET, spec={"size": 2}), second]))
    changed = model.next(model.initial(), Step("act"))
    assert changed.cost == 0
    assert model.next(changed.world, Step("act")).cost == cost


def test_a_user_writes_a_subresource_as_its_own_manager() -> None:
    reporter = Writer("reporter", [patch(WIDGET, {"status": {"seen": 1}}, subresource="status")])
    verdict = check(_scenario(writers=[reporter]))
    (state,) = {id(state): state for state in verdict.final_states[:1]}.values()
    widget = Cluster(state=state).get(KIND, "w")
    assert widget["status"]["seen"] == 1
    managers = {entry["manager"]: entry.get("subresource") for entry in widget["metadata"]["managedFields"]}
    assert managers["reporter"] == "status"


def test_a_refused_action_is_dropped_or_retried() -> None:
    person = [create(MAP)]
    dropped = Model(_scenario(writers=[Writer("person", person), Writer("other", [delete(MAP)])]))
    assert _acts(dropped, [Step("act", at=1)]) == [Step("act", at=0)]
    retried = Model(_scenario(writers=[Writer("person", person), Writer("other", [delete(MAP, retry=True)])]))
    assert _acts(retried, []) == [Step("act", at=0)]
    assert _acts(retried, [Step("act", at=0)]) == [Step("act", at=1)]


def test_a_condition_that_raises_is_named() -> None:
    def broken(cluster: Cluster) -> bool:
        return bool(cluster.get(KIND, "absent"))

    with pytest.raises(BadScenario, match="the condition of 'changes Widget default/w: spec' raised NotFound"):
        check(_scenario(actions=[update(WIDGET, spec={"size": 2}, when=broken)]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"writers": [3]}, r"writers\[0\]: expected Writer\(name, actions\), found 3"),
        ({"writers": [Writer("a", ["x"])]}, r"writers\[0\]\.actions\[0\]: expected create"),  # type: ignore[list-item]
        ({"actions": [delete(WIDGET, when=3)]}, "when=3: expected a function of the cluster"),  # type: ignore[arg-type]
    ],
)
def test_values_that_are_no_users_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        check(_scenario(**fields))


def test_the_actions_of_a_writer_are_a_list() -> None:
    with pytest.raises(BadScenario, match=r"writers\[0\]\.actions: expected a list of actions"):
        check(_scenario(writers=[Writer("a", delete(WIDGET))]))  # type: ignore[arg-type]


def test_bounds_that_are_no_numbers_by_name_are_refused() -> None:
    with pytest.raises(BadScenario, match=r"Bounds\(instances=2\): expected numbers by the names of controllers"):
        Bounds(instances=2)  # type: ignore[arg-type]


def test_many_actions_and_many_faults_are_counted() -> None:
    actions = [update(WIDGET, spec={"size": number}) for number in range(300)]
    model = Model(Scenario([Copies()], crds=[CRD], objects=[WIDGET], actions=actions, bounds=Bounds(faults=1_000)))
    world = model.initial()
    keys = set()
    for _ in actions:
        keys.add(model.key(world))
        world = model.next(world, Step("act")).world
    assert len(keys) == len(actions)


def test_controllers_can_have_different_numbers_of_instances() -> None:
    scenario = Scenario(
        [Copies()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0, instances={"copies": 2})
    )
    assert Model(scenario).names == ["copies#1", "copies#2"]
    unknown = Scenario([Copies()], crds=[CRD], objects=[WIDGET], bounds=Bounds(instances={"copy": 2}))
    with pytest.raises(BadScenario, match="instances"):
        check(unknown)


class Flips(Controller):
    """Writes another status than the one that is there, again and again."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        status = widget.setdefault("status", {})
        status["on"] = not status.get("on", False)
        await api.status.update(widget)


def test_a_controller_that_stops_writing_only_because_a_user_acts_never_settles() -> None:
    scenario = Scenario(
        [Flips()], crds=[CRD], objects=[WIDGET], actions=[delete(WIDGET)], bounds=Bounds(lag=0, faults=0)
    )
    names = {violation.property: violation.sentence for violation in check(scenario).violations}
    assert "as long as no user acts" in names["never settles"]


class Remembers(Controller):
    """Notes the largest size that it has seen in a config map: its final state depends on which sizes it saw."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(KIND, request)
        noted = await api.live.get("ConfigMap/v1", "default/m")
        size = widget.get("spec", {}).get("size", 0)
        if size > int(noted["data"]["size"]):
            noted["data"]["size"] = str(size)
            await api.update(noted)


class Records(Remembers):
    """Creates a config map for each size that it sees."""

    name = "remembers"

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(KIND, request)
        with contextlib.suppress(AlreadyExists):
            await api.create(new_object("ConfigMap/v1", f"seen-{widget['spec'].get('size', 0)}", namespace="default"))


def _hurried(controller: Controller, **options: Any) -> Scenario:
    actions = [update(WIDGET, spec={"size": 9}), update(WIDGET, spec={"size": 5}, **options)]
    objects = [WIDGET, {**MAP, "data": {"size": "0"}}]
    return Scenario([controller], crds=[CRD], objects=objects, actions=actions, bounds=Bounds(lag=0, faults=0))


def test_a_spec_that_depends_on_a_state_which_a_user_overwrites_soon_has_diverged() -> None:
    (violation,) = check(_hurried(Remembers())).violations
    assert violation.property == "diverged"
    assert violation.perturbations == 1


def test_records_of_states_that_a_user_overwrites_soon_may_be_missing() -> None:
    assert check(_hurried(Records())).ok


def test_an_action_with_a_condition_is_not_taken_in_a_hurry() -> None:
    assert check(_hurried(Remembers(), when=lambda _: True)).ok


class Waits(Records):
    """The same, and looks again from time to time."""

    name = "remembers"

    async def reconcile(self, request: Request, api: Api) -> Result:  # type: ignore[override]
        await super().reconcile(request, api)
        return Result(requeue=True)


def test_records_may_be_missing_also_where_a_controller_looks_again_and_again() -> None:
    assert check(_hurried(Waits())).ok
