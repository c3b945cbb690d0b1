"""Of interchangeable instances that are in the same situation, one takes its steps for all."""

from dataclasses import replace

from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend.explore import Reductions, check
from kontend.explore.model.model import Model
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.explore.scenario import Bounds


def _actors(model: Model, steps: MacroSteps, schedule: int = 0) -> list[set[int]]:
    """The instances that take steps in the initial state, and after so many first macro-steps."""
    world = model.initial()
    actors = []
    for _ in range(schedule + 1):
        macros = steps.of(world)
        actors.append({macro.steps[-1].instance for macro in macros})
        world = macros[0].world
    return actors


def test_instances_in_the_same_situation_take_their_steps_once() -> None:
    model = Model(double_plan(LockedWidgets(), lag=1, concurrent=3))
    # All three wait; then the first one has started, and the others still wait.
    assert _actors(model, MacroSteps(model), 1) == [{0}, {0, 1}]


def test_without_symmetry_all_of_them_do() -> None:
    scenario = replace(double_plan(LockedWidgets(), lag=1, concurrent=3), reductions=Reductions(symmetry=False))
    model = Model(scenario)
    assert _actors(model, MacroSteps(model)) == [{0, 1, 2}]


def test_with_a_late_write_all_of_them_do() -> None:
    scenario = double_plan(LockedWidgets(), lag=1, concurrent=3)
    model = Model(replace(scenario, bounds=Bounds(lag=1, concurrent=3, handovers=1)))
    steps = MacroSteps(model)
    worlds, late = [model.initial()], None
    for world in worlds[:]:
        worlds += [macro.world for macro in steps.of(world)]
    for world in worlds:
        late = late or next((macro.world for macro in steps.of(world) if macro.world.late), None)
    assert late is not None
    assert {macro.steps[-1].instance for macro in steps.of(late) if macro.steps[-1].action != "land"} == {0, 1, 2}


def test_the_verdict_is_the_same() -> None:
    for controller in (Widgets(), LockedWidgets()):
        scenario = double_plan(controller, lag=1, concurrent=2)
        verdict, every = check(scenario), check(replace(scenario, reductions=Reductions(symmetry=False)))
        assert verdict.exhausted
        assert every.exhausted
        assert [violation.property for violation in verdict.violations] == [
            violation.property for violation in every.violations
        ]
        assert verdict.steps < every.steps
