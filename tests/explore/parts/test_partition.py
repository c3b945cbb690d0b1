"""Candidates for parts: objects that belong together, and actions that users take in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from explore.widgets import CRD, KIND, UNGUARDED
from kontend.explore import Bounds, Reductions, Scenario, Writer, always, create, delete, eventually, update
from kontend.explore.model.model import Model
from kontend.explore.parts.partition import Candidate, can_be_divided, candidates, neighbours, started
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

A, B, C = (Key("default", name) for name in "abc")


class Owns(Controller):
    """Reconciles widgets and what they own."""

    kind = KIND
    owns: ClassVar[tuple[str, ...]] = ("ConfigMap/v1",)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read."""
        await api.get(self.kind, request)


class Remembers(Owns):
    """The same, with a memory."""

    memory: ClassVar[tuple[str, ...]] = ("seen",)
    seen = 0


def widget(name: str, **more: Any) -> dict[str, Any]:
    """A widget."""
    metadata = {"name": name, "namespace": "default", **more}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {}}


def owned(name: str, owner: dict[str, Any], *, controls: bool) -> dict[str, Any]:
    """A ConfigMap with an owner."""
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": owner["metadata"]["name"]}
    reference |= {"uid": owner["metadata"]["uid"], "controller": controls}
    metadata = {"name": name, "namespace": "default", "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def scenario(*objects: dict[str, Any], controller: Controller | None = None, **options: Any) -> Scenario:
    """A scenario without lag and faults."""
    bounds = Bounds(lag=0, faults=0)
    made = Scenario([controller or Owns()], crds=[CRD], objects=list(objects), bounds=bounds, guards=UNGUARDED)
    return replace(made, **options)


def parts_of(*objects: dict[str, Any], **options: Any) -> list[tuple[set[Key], tuple[tuple[int, int], ...]]]:
    """The candidates of a scenario: their requests, and their actions."""
    made = candidates(Model(scenario(*objects, **options)))
    return [({request for _, request in part.requests}, part.actions) for part in made]


def test_each_object_is_a_part_unless_it_belongs_to_another_one() -> None:
    assert parts_of(widget("a"), widget("b")) == [({A}, ()), ({B}, ())]


def test_an_object_belongs_to_the_part_of_its_owner_also_where_that_does_not_control_it() -> None:
    one, two = widget("a", uid="u-a"), widget("b", uid="u-b")
    shared = owned("m", one, controls=True)
    shared["metadata"]["ownerReferences"] += owned("m", two, controls=False)["metadata"]["ownerReferences"]
    assert parts_of(one, two, shared) == [({A, B}, ())]
    assert parts_of(one, two, owned("m", one, controls=True)) == [({A}, ()), ({B}, ())]


def test_parts_are_in_the_order_of_their_actions() -> None:
    acts = [update(widget("b"), spec={"size": 1}), update(widget("a"), spec={"size": 1})]
    assert parts_of(widget("a"), widget("b"), actions=acts) == [({B}, ((0, 1),)), ({A}, ((1, 2),))]


def test_an_object_that_a_user_creates_is_a_part() -> None:
    assert parts_of(widget("a"), actions=[create(widget("c"))]) == [(set(), ((0, 1),)), ({A}, ((0, 0),))]


def test_parts_whose_actions_do_not_follow_each_other_are_one() -> None:
    acts = [update(widget("a"), spec={"size": 1}), update(widget("b"), spec={"size": 1}), delete(widget("a"))]
    assert parts_of(widget("a"), widget("b"), widget("c"), actions=acts) == [({A, B}, ((0, 3),)), ({C}, ((0, 0),))]


def test_the_actions_of_users_are_in_order_for_each_user() -> None:
    writers = [Writer("other", [update(widget("b"), spec={"size": 1}), update(widget("a"), spec={"size": 2})])]
    acts = [update(widget("a"), spec={"size": 1})]
    assert parts_of(widget("a"), widget("b"), actions=acts, writers=writers) == [
        ({B}, ((0, 0), (0, 1))),
        ({A}, ((0, 1), (1, 2))),
    ]


def _candidate(*actions: tuple[int, int], request: Key = A) -> Candidate:
    return Candidate(frozenset({(0, request)}), actions)


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ((0, 1), (2, 3), (0, 3)),
        ((2, 3), (0, 1), (0, 3)),
        ((0, 0), (2, 3), (2, 3)),
        ((2, 3), (0, 0), (2, 3)),
        ((0, 0), (0, 0), (0, 0)),
    ],
)
def test_two_parts_joined_have_the_actions_in_between(
    one: tuple[int, int], other: tuple[int, int], joined: tuple[int, int]
) -> None:
    both = _candidate(one).joined(_candidate(other, request=B))
    assert both.actions == (joined,)
    assert both.requests == {(0, A), (0, B)}


def test_parts_are_joined_until_no_two_cross() -> None:
    parts = [_candidate((0, 2)), _candidate((1, 3), request=B), _candidate((3, 4), request=C)]
    assert [part.actions for part in neighbours(parts)] == [((0, 3),), ((3, 4),)]
    chain = [_candidate((0, 2)), _candidate((1, 4), request=B), _candidate((3, 5), request=C)]
    assert [part.actions for part in neighbours(chain)] == [((0, 5),)]


def test_a_part_starts_after_the_earlier_actions_with_only_its_own_requests() -> None:
    acts = [update(widget("a"), spec={"size": 1}), update(widget("b"), spec={"size": 2})]
    model = Model(scenario(widget("a"), widget("b"), actions=acts))
    first, second = candidates(model)
    part, steps = started(model, second, [first])
    assert [step.action for step in steps if step.action == "act"] == ["act"]
    assert (part.start.acted, part.ends) == ((1,), (2,))
    assert part.start.instances[0].queue == {B}
    assert part.foreign == (frozenset({A}),)
    assert part.whole is model.initial().state
    part, steps = started(model, first, [second])
    assert (steps, part.start.acted, part.ends) == ((), (0,), (1,))
    assert part.start.instances[0].queue == {A}


def test_users_without_an_action_in_a_part_take_none_before_it() -> None:
    acts = [update(widget("b"), spec={"size": 1})]
    writers = [Writer("other", [update(widget("c"), spec={"size": 1}), update(widget("a"), spec={"size": 2})])]
    model = Model(scenario(widget("a"), widget("b"), widget("c"), actions=acts, writers=writers))
    parts = candidates(model)
    (last,) = [part for part in parts if part.requests == {(0, A)}]
    part, _ = started(model, last, [other for other in parts if other is not last])
    assert (part.start.acted, part.ends) == ((0, 1), (0, 2))


def _ready(cluster: Any) -> bool:
    return bool(cluster)


@pytest.mark.parametrize(
    ("options", "divided"),
    [
        ({}, True),
        ({"reductions": Reductions(parts=False)}, False),
        ({"properties": [eventually(_ready)]}, True),
        ({"properties": [eventually(_ready), always(_ready, name="always ready")]}, False),
        ({"controller": Remembers()}, False),
        ({"actions": [update(widget("a"), spec={"size": 1})]}, True),
        ({"actions": [update(widget("a"), spec={"size": 1}, when=_ready)]}, False),
        ({"actions": [update(widget("a"), spec={"size": 1}, retry=True)]}, False),
    ],
)
def test_what_concerns_all_objects_keeps_a_scenario_whole(options: dict[str, Any], divided: bool) -> None:
    assert can_be_divided(Model(scenario(widget("a"), **options))) is divided
