"""The nearest good run: the failing one up to a perturbation, and on without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explore import check
from kontend.explore.explain import nearest
from kontend.explore.explain.nearest import nearest_good_run
from kontend.explore.model.model import Model
from kontend.explore.search.walks.walk import Walk
from kontend.runtime.user_file import load_file

ZOO = Path(__file__).parents[3] / "zoo"


def test_runs_without_a_perturbation_come_before_the_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_BUDGET", 1)
    scenario = load_file(ZOO / "toolhive_dropped_errors.py").buggy
    model = Model(scenario)
    (violation,) = (each for each in check(scenario).violations if each.property == "diverged")
    walk = Walk(model)
    costly = []
    for length, step in enumerate(violation.schedule):
        before = walk.cost
        walk.take(step)
        if walk.cost > before:
            costly.append(length)
    run = nearest_good_run(model, "diverged", violation.schedule, walk.world)
    assert run is not None
    assert run.common == costly[-1] > 0
    assert [*run.schedule[: run.common]] == [*violation.schedule[: run.common]]
