"""Counterexamples: interchangeable instances in the order of their appearance, and the write that was overwritten."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, update
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.trace.token import read_token
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request

W = Key("default", "w")


class Marks(Controller):
    """Marks a widget."""

    kind = KIND
    name = "marks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark it."""
        widget = await api.get(self.kind, request)
        await api.status.patch(widget, merge_patch({"status": {"size": widget["spec"].get("size", 0)}}))


class Other(Marks):
    """Another controller, whose instances are not interchangeable with those of the first."""

    name = "other"


def model_of(concurrent: int) -> Model:
    """Two controllers with some instances each, in processes of their own."""
    bounds = Bounds(lag=3, concurrent=concurrent, faults=0)
    acts = [update(WIDGET, spec={"size": 1}), update(WIDGET, spec={"size": 2})]
    given: dict[str, Any] = {"crds": [CRD], "objects": [WIDGET], "actions": acts, "bounds": bounds, "guards": UNGUARDED}
    return Model(Scenario([Marks(), Other()], processes={"marks": ["marks"], "other": ["other"]}, **given))


def reconcile(index: int) -> list[Step]:
    """A reconcile of an instance, from its start to its write."""
    return [Step("start", index, W), Step("call", index, W), Step("call", index, W)]


def shown(concurrent: int, schedule: list[Step], sentence: str = "", **options: Any) -> Any:
    """The counterexample of a property of the user's along a schedule."""
    return counterexample(model_of(concurrent), "one_mark", sentence, schedule, **options)


def test_instances_are_numbered_in_the_order_in_which_they_appear() -> None:
    violation = shown(3, [*reconcile(2), *reconcile(0)], "marks#3, marks#1 and other#3")
    assert [step.instance for step in violation.schedule] == [0, 0, 0, 1, 1, 1]
    assert violation.sentence.startswith("marks#1, marks#2 and other#3")
    assert [line.split()[0].rstrip(":") for line in violation.trace] == ["marks#1"] * 3 + ["marks#2"] * 3
    assert read_token(violation.token).schedule == violation.schedule


def test_instances_of_different_controllers_are_numbered_apart() -> None:
    violation = shown(2, [*reconcile(3), Step("act"), *reconcile(1)], "other#2 before marks#2")
    assert [step.instance for step in violation.schedule] == [2, 2, 2, -1, 0, 0, 0]
    assert violation.sentence.startswith("other#1 before marks#1")


def test_names_that_begin_alike_stay_different() -> None:
    schedule = [Step("start", index, W) for index in (10, 0)]
    violation = shown(11, schedule, "marks#11 and marks#1")
    assert violation.sentence == "marks#1 and marks#2"


def test_a_schedule_that_is_in_order_or_was_given_stays_as_it_is() -> None:
    in_order = [*reconcile(0), *reconcile(1)]
    assert list(shown(2, in_order, "marks#1").schedule) == in_order
    given = [*reconcile(1), *reconcile(0)]
    violation = shown(2, given, "marks#2", how="given")
    assert list(violation.schedule) == given
    assert (violation.how, violation.sentence[:7]) == ("given", "marks#2")


@pytest.mark.parametrize(
    ("schedule", "addition"),
    [
        # The last write comes after another one of the same object.
        (
            [*reconcile(0), Step("act"), *2 * [Step("deliver", 1, KIND)], *reconcile(1)],
            " (step 9), after the user changes Widget default/w: spec (step 4)",
        ),
        # The last step writes nothing, or is the only one that does.
        ([*reconcile(0), Step("start", 1, W)], ""),
        (reconcile(0), ""),
        ([], ""),
    ],
)
def test_the_write_before_the_last_one_is_named(schedule: list[Step], addition: str) -> None:
    assert shown(2, schedule, "it does not hold").sentence == f"it does not hold{addition}"


def test_a_built_in_property_words_its_own_sentence() -> None:
    schedule = [*reconcile(0), Step("act"), *reconcile(1)]
    assert counterexample(model_of(2), "lost update", "it was lost", schedule).sentence == "it was lost"


def test_the_cost_is_that_of_all_steps() -> None:
    violation = shown(2, [Step("act"), *reconcile(0), Step("act"), *reconcile(1)])
    # The first read is stale, the second action comes before the controllers have settled, the second read is stale.
    assert violation.perturbations == sum(
        transition.cost for transition in _transitions(model_of(2), violation.schedule)
    )
    assert violation.perturbations >= 2


def _transitions(model: Model, schedule: Any) -> Any:
    world = model.initial()
    for step in schedule:
        transition = model.next(world, step)
        world = transition.world
        yield transition
