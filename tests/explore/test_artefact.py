"""Counterexamples as files."""

from __future__ import annotations

from pathlib import Path

from explore.widgets import Widgets, double_plan
from kontend.explore.artefact import save
from kontend.explore.check import check
from kontend.explore.engine import Engine
from kontend.explore.story import violation_of


def test_a_counterexample_replays_to_the_same_bytes_a_thousand_times(tmp_path: Path) -> None:
    """The story, the file and the token are made anew each time, now and then by an engine that knows nothing yet."""
    scenario = double_plan(Widgets(), lag=1, concurrent=2)
    violations = check(scenario).violations
    assert len(violations) == 2
    source = tmp_path / "race.py"
    for violation in violations:
        name, sentence = violation.property, violation.sentence.partition(" (move")[0]
        first = save(tmp_path / "first", source, "race", violation, scenario.bounds).read_bytes()
        engine = Engine(scenario)
        for number in range(500):
            if number % 10 == 0:
                engine = Engine(scenario)
            again = violation_of(engine, name, sentence, violation.choices)
            assert again == violation
            assert save(tmp_path / "again", source, "race", again, scenario.bounds).read_bytes() == first
            assert again.replay == violation.replay
        assert len(list((tmp_path / "again").iterdir())) == violations.index(violation) + 1
