"""Local states of an instance: the effort that is spent on them, and the members that have nothing to do."""

from __future__ import annotations

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Bounds, Reductions, Scenario
from kontend.explore.factored import local_states
from kontend.explore.factored.local_states import Effort, LocalStates, steps_of
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result


def test_effort_is_left_until_all_of_it_is_spent() -> None:
    effort = Effort(lambda: False)
    assert not effort.is_left
    effort.add(3)
    effort.spend(2)
    assert effort.is_left
    effort.spend()
    assert not effort.is_left


def test_a_run_of_user_code_is_counted_once_and_costs_more_than_a_state() -> None:
    effort = Effort(lambda: False)
    effort.add(3 * local_states._RUN)
    effort.spend_on_runs(2)
    effort.spend_on_runs(2)
    effort.spend(local_states._RUN - 1)
    assert effort.is_left
    effort.spend_on_runs(3)
    assert not effort.is_left


def test_another_limit_is_asked_about_from_time_to_time_and_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_states, "_ASK_AFTER", 10)
    asked: list[bool] = []

    def is_over() -> bool:
        asked.append(True)
        return len(asked) == 2

    effort = Effort(is_over)
    effort.add(1_000)
    effort.spend(10)
    assert effort.is_left
    assert asked == []
    effort.spend()
    assert effort.is_left
    assert effort.is_left
    assert len(asked) == 1
    effort.spend(11)
    assert not effort.is_left
    assert len(asked) == 2


def _members(successors: list[tuple[int, ...]], restless: set[int]) -> LocalStates:
    members, world = LocalStates(), Model(Scenario([Rests()], crds=[CRD], objects=[WIDGET])).initial()
    for number in range(len(successors)):
        assert members.add(bytes([number]), world) == number
    members.successors, members.restless = successors, restless
    return members


def test_a_member_is_quiet_if_nothing_that_it_can_become_leaves_or_fails() -> None:
    # In both directions, so that the order in which members were met does not matter.
    assert _members([(), (0,), (1,), ()], {0}).quiet() == [False, False, False, True]
    assert _members([(1,), (2,), (), (3,)], {2}).quiet() == [False, False, False, True]


def test_a_member_that_is_known_keeps_its_number() -> None:
    members = _members([(), ()], set())
    assert members.add(b"\x01", members.worlds[0]) == 1
    assert len(members.worlds) == 2


class Rests(Controller):
    """Comes back after a while, and does nothing."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Look."""
        await api.get(self.kind, request)
        return Result(requeue_after=30)


def _reached(reductions: Reductions) -> tuple[Model, MacroSteps, World]:
    """A state in which nothing is left to the controller but its timer."""
    scenario = Scenario([Rests()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0), reductions=reductions)
    model = Model(scenario)
    world = model.initial()
    while steps := [step for step in model.steps_of_process(world, 0) if step.action != "timer"]:
        world = model.next(world, steps[0]).world
    return model, MacroSteps(model), world


def test_a_timer_that_fires_by_itself_is_told_from_one_that_starts_a_macro_step() -> None:
    (alone,) = steps_of(*_reached(Reductions(deliveries=False, reads=False)), 0)
    assert alone.is_timer
    assert alone.world.instances[0].queue
    (joined,) = steps_of(*_reached(Reductions()), 0)
    assert not joined.is_timer
    assert not joined.world.instances[0].queue
