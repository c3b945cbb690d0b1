"""Counterexamples as files."""

from __future__ import annotations

from pathlib import Path

from explore.widgets import Widgets, double_plan
from kontend.explore import check
from kontend.explore.model.model import Model
from kontend.explore.trace.artefact import save
from kontend.explore.trace.counterexample import counterexample


def test_a_counterexample_replays_to_the_same_bytes_a_thousand_times(tmp_path: Path) -> None:
    """The trace, the file and the token are made anew each time, every fiftieth time by a fresh model."""
    scenario = double_plan(Widgets(), lag=1, concurrent=2)
    violations = check(scenario).violations
    assert len(violations) == 2
    source = tmp_path / "race.py"
    for violation in violations:
        name, sentence = violation.property, violation.sentence.partition(" (step")[0]
        first = save(tmp_path / "first", source, "race", violation, scenario.bounds).read_bytes()
        model = Model(scenario)
        for number in range(500):
            if number % 50 == 0:
                model = Model(scenario)
            again = counterexample(model, name, sentence, violation.schedule)
            assert again == violation
            assert save(tmp_path / "again", source, "race", again, scenario.bounds).read_bytes() == first
            assert again.token == violation.token
        assert len(list((tmp_path / "again").iterdir())) == violations.index(violation) + 1
