"""The judge: which properties it asks, about what, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, eventually, never, sometimes, update
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.program.progress import Failure
from kontend.explore.properties.judge import Judge, sole_manager
from kontend.explore.properties.property import Property
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request
from kontend.runtime.source_location import SourceLocation

W = Key("default", "w")
START, CALL, ACT = Step("start", 0, W), Step("call", 0, W), Step("act")


class Sizes(Controller):
    """Copies the size into the status."""

    kind = KIND
    name = "sizes"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        widget = await api.get(self.kind, request)
        await api.status.patch(widget, merge_patch({"status": {"size": widget["spec"].get("size", 0)}}))


def model_of(*properties: Property, **bounds: Any) -> Model:
    """A widget whose size a user changes."""
    return Model(
        Scenario(
            [Sizes()],
            crds=[CRD],
            objects=[WIDGET],
            actions=[update(WIDGET, spec={"size": 2})],
            properties=list(properties),
            bounds=Bounds(**bounds),
            guards=UNGUARDED,
        )
    )


def _size(cluster: Cluster) -> Any:
    return (cluster.get(KIND, "w").get("status") or {}).get("size")


def _grows(before: Cluster, after: Cluster) -> bool:
    return (_size(after) or 0) >= (_size(before) or 0)


def test_the_same_question_about_the_same_objects_is_asked_once() -> None:
    asked: list[Any] = []

    def noted(cluster: Cluster) -> bool:
        asked.append(_size(cluster))
        return True

    model = model_of(always(noted), lag=0)
    asked.clear()
    judge = Judge(model)
    world = model.initial()
    started = model.next(world, START).world
    assert judge.holds(world) == judge.holds(started) == (True,)
    assert asked == [None]
    list(judge.of_initial(world))
    assert asked == [None]
    judge.forget()
    assert judge.holds(started) == (True,)
    assert asked == [None, None]


def test_only_invariants_are_judged_in_the_initial_state() -> None:
    def no(cluster: Cluster) -> bool:
        return bool(_size(cluster))

    def yes(cluster: Cluster) -> bool:
        return not _size(cluster)

    model = model_of(eventually(no, name="later"), sometimes(no, name="once"), always(yes), never(no), lag=0)
    assert list(Judge(model).of_initial(model.initial())) == []
    model = model_of(always(_grows))
    assert list(Judge(model).of_initial(model.initial())) == []


@pytest.mark.parametrize(
    ("prop", "broken"),
    [
        (always(lambda cluster: _size(cluster) != 2, name="p"), True),
        (never(lambda cluster: _size(cluster) == 2, name="p"), True),
        (never(_grows, name="p"), True),
        (always(_grows, name="p"), False),
        (always(lambda before, after: _size(before) is None and _size(after) == 2, name="p"), False),
        (eventually(lambda cluster: _size(cluster) != 2, name="p"), False),
        (sometimes(lambda cluster: _size(cluster) != 2, name="p"), False),
    ],
)
def test_invariants_are_judged_after_a_write_and_between_two_clusters(prop: Property, broken: bool) -> None:
    model = model_of(prop, lag=0, faults=0)
    world = model.initial()
    for step in (ACT, START, CALL):
        world = model.next(world, step).world
    findings = [finding.property for finding in Judge(model).of_write(world, model.next(world, CALL), 0)]
    assert findings == ["p"] * broken


def test_the_manager_is_that_of_one_process_unless_another_one_writes_as_it() -> None:
    for concurrent, name in ((1, "sizes"), (2, "")):
        model = model_of(concurrent=concurrent)
        world = model.next(model.initial(), START).world
        assert sole_manager(model, world, world.instances[0].running[0], 0) == name
    model = model_of(handovers=1)
    world = model.next(model.next(model.initial(), START).world, CALL).world
    in_flight = world.instances[0].running[0]
    late = model.next(world, Step("depose", 0, W)).world
    assert sole_manager(model, world, in_flight, 0) == "sizes"
    assert sole_manager(model, late, late.late[0].in_flight, 0) == ""


def test_a_failure_is_a_violation_only_if_it_is_a_programming_error() -> None:
    model = model_of()
    line = SourceLocation("sizes.py", 3)
    for is_bug in (False, True):
        failure = Failure("TypeError", "no", is_bug=is_bug, line=line)
        findings = list(Judge(model).of_failure(failure, 0, W))
        assert [finding.property for finding in findings] == ["exception"] * is_bug
