"""Replays counterexamples from files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from kontend.explore.model.model import replay
from kontend.explore.problems import BadScenario
from kontend.explore.restarts import restarted
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.trace.schedule import load_schedule


def replay_file(path: Path, document: dict[str, Any]) -> list[str]:
    """The trace that a counterexample gives now; ``document`` is the content of the file."""
    scenarios = scenarios_in(document["source"])
    scenario = scenarios.get(document["scenario"])
    if scenario is None:
        raise BadScenario(f"{document['source']}: there is no scenario {document['scenario']} any more")
    if "bounds" in document:
        try:
            bounds = dataclasses.replace(scenario.bounds, **document["bounds"])
        except BadScenario as error:  # not the scenario's line: the file says so
            raise BadScenario(f"{path}: {error.message}") from error
        scenario = dataclasses.replace(scenario, bounds=bounds)
    schedule = load_schedule(document["schedule"])
    transitions = restarted(scenario, lambda model: replay(model, schedule))
    return [transition.line for transition in transitions]
