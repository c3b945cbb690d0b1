"""The wiring of a model's mechanics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from explore.widgets import LockedWidgets, double_plan
from kontend.explore.model.mechanics import Mechanics
from kontend.explore.model.model import Model
from kontend.explore.model.part import Part
from kontend.kube.meta.names import Key


def _part(model: Model) -> Part:
    world = model.initial()
    return Part(world, world.state, tuple(frozenset[Key]() for _ in model.programs), (0,) * len(world.acted))


_VARIANTS: list[Callable[[Model], Model]] = [
    lambda model: model.restricted(_part(model)),
    lambda model: model.with_uuids_by_instance(),
    lambda model: model.restricted(_part(model)).with_uuids_by_instance(),
]


def _wiring(mechanics: Mechanics) -> Iterator[tuple[str, object]]:
    """Everything that a model's mechanics hold on to, and what these hold on to: by its path."""
    for name, part in vars(mechanics).items():
        yield name, part
        for inner, other in vars(part).items():
            yield f"{name}.{inner}", other


@pytest.mark.parametrize("varied", _VARIANTS)
def test_no_part_of_a_variant_asks_a_part_of_the_original(varied: Callable[[Model], Model]) -> None:
    model = Model(double_plan(LockedWidgets()))
    variant = varied(model)
    shared = {id(model.layout.server), id(model.layout.keys)}
    originals = {id(part) for part in vars(model.mechanics).values()} - shared
    assert [path for path, part in _wiring(variant.mechanics) if id(part) in originals] == []


@pytest.mark.parametrize("varied", _VARIANTS)
def test_the_steps_that_a_variant_tries_are_its_own(varied: Callable[[Model], Model]) -> None:
    """Timers and futile looks take steps to see where they lead: in the part, and with its uuids."""
    variant = varied(Model(double_plan(LockedWidgets())))
    following = [part for path, part in _wiring(variant.mechanics) if path.endswith("._following")]
    assert following
    assert all(step == variant.next for step in following)


def test_variants_share_programs_outcomes_and_what_was_noticed() -> None:
    model = Model(double_plan(LockedWidgets()))
    variant = model.with_uuids_by_instance()
    assert (variant.programs, variant.mechanics.server) == (model.programs, model.mechanics.server)
    model.layout.noticed.timer_has_fired = True
    assert variant.layout.noticed.timer_has_fired


def test_a_variant_of_a_part_keeps_to_the_part() -> None:
    model = Model(double_plan(LockedWidgets()))
    part = _part(model)
    assert model.restricted(part).with_uuids_by_instance().part is part
