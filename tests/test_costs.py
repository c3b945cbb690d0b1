"""The tests that ``make test`` runs: every file is represented, and all of them fit into five minutes."""

from __future__ import annotations

from costs import beyond_budget, known_costs, longest_first

#: Seconds of two processors that ``make test`` may take.
_SECONDS = 300


def test_of_each_file_the_cheapest_tests_run() -> None:
    left_out = beyond_budget({"slow": 50.0, "quick": 0.5, "middling": 4.0}, budget=6.0)
    assert left_out == {"slow"}


def test_a_file_with_one_long_test_is_represented() -> None:
    assert beyond_budget({"long": 500.0, "longer": 501.0}, budget=6.0) == {"longer"}


def test_files_that_take_longest_come_first_and_the_others_keep_their_order() -> None:
    order = longest_first(["a", "c", "b", "d"], {"b": {"x": 2.0}, "d": {"x": 1.0, "y": 3.0}})
    assert sorted(order, key=lambda file: order[file]) == ["d", "b", "a", "c"]


def test_what_make_test_runs_takes_five_minutes_of_two_processors() -> None:
    """The figures are measured (make costs); the budget of a file is to be lowered when they have grown."""
    costs = known_costs()
    run = sum(cost for names in costs.values() for name, cost in names.items() if name not in beyond_budget(names))
    assert run / 2 < _SECONDS
