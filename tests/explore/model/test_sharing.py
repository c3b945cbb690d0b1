"""Clusters and instances after a write: made once for all states that share them."""

from __future__ import annotations

from explore.widgets import Widgets, double_plan
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import LateWrite, World
from kontend.explore.model.step import Step
from kontend.kube.meta.names import Key

REQUEST = Key("default", "w")
START, CALL = Step("start", 0, REQUEST), Step("call", 0, REQUEST)


def _before_write() -> tuple[Model, World, World]:
    """A state before a write, and one in which another instance has started meanwhile."""
    model = Model(double_plan(Widgets(), concurrent=2))
    world = model.initial()
    for step in (START, CALL):
        world = model.next(world, step).world
    return model, world, model.next(world, Step("start", 1, REQUEST)).world


def test_a_write_leads_states_with_one_cluster_to_one_cluster() -> None:
    model, world, other = _before_write()
    assert model.next(world, CALL).world.state is model.next(other, CALL).world.state


def test_the_process_that_has_written_is_one_object_in_both_states() -> None:
    model, world, other = _before_write()
    one, two = model.next(world, CALL).world, model.next(other, CALL).world
    assert one.processes[0] is two.processes[0]
    assert one.processes[1] is not two.processes[1]


def test_a_process_that_a_write_does_not_move_keeps_what_it_knows_of_the_cluster_before() -> None:
    model, world, _ = _before_write()
    keys = model.layout.keys
    key = keys.of_process(world, 1)
    after = model.next(world, CALL).world
    assert keys.of_process(after, 1) != key
    assert after.processes[1] is not world.processes[1]
    assert world.processes[1].cached_key(world.state) == key


def test_a_late_write_is_told_from_an_equal_one_by_its_reconcile() -> None:
    model, world, _ = _before_write()
    late = world.with_late((LateWrite(0, world.instances[0].running[0], 0),))
    one, two = model.next(late, CALL).world, model.next(late, CALL).world
    assert one.processes[0] is not two.processes[0]


def test_what_was_forgotten_is_made_again() -> None:
    model, world, _ = _before_write()
    before = model.next(world, CALL).world
    model.mechanics.forget()
    after = model.next(world, CALL).world
    assert after.state is not before.state
    assert model.key(after) == model.key(before)
