"""Replays trace documents: finds the file of the scenario, and follows the schedule."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

from kontend.explore.explain.explanation import Origin, explainer
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.replay.following import Followed, followed
from kontend.explore.restarts import restarted
from kontend.explore.scenario import STEP_BOUNDS, Scenario
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.sources.content import content_of
from kontend.explore.sources.inputs import Inputs
from kontend.explore.trace.schedule import load_schedule
from kontend.report.document import Document


def locate(document: Document, archive: Path, given: Path | None = None) -> Path:
    """The Python file or Go package that a document is about, on this machine.

    It is the ``given`` one; or else the path of the document is looked for below the current directory, the directory
    of the archive and all directories above them, and a file with the recorded content is preferred.
    """
    if given is not None:
        if not given.exists():
            raise BadScenario(f"{given}: no such file")
        return given
    name = document.source.file
    if not name:
        raise BadScenario(f"{archive}: it names no file; give the one that defines the scenario: --file mine.py")
    candidates = list(dict.fromkeys(_candidates(name, archive)))
    if not candidates:
        raise BadScenario(
            f"{archive}: {name} is neither here nor beside the trace; say where it is: --file path/to/{Path(name).name}"
        )
    same = [path for path in candidates if hashlib.sha256(content_of(path)).hexdigest() == document.source.digest]
    return (same or candidates)[0]


def _candidates(name: str, archive: Path) -> Iterator[Path]:
    for start in (Path.cwd(), archive.resolve().parent):
        for directory in (start, *start.parents):
            path = directory / name
            if path.is_file() or any(path.glob("*.go")):
                yield path.resolve()


def replay_document(archive: Path, document: Document, source: Path) -> Followed:
    """Follow the schedule of a document with the scenario of a file. Raises :class:`BadScenario`."""
    scenario = _scenario(archive, document, source)
    try:
        schedule = load_schedule(document.schedule)
    except (TypeError, ValueError) as error:
        raise BadScenario(f"{archive}: not a schedule: {error}") from error
    # The steps of a cycle are shown from where it is simplest, which need not be where the schedule leads.
    recorded = document.steps[: len(schedule)] if document.violation.cycle is None else ()
    name = document.violation.property
    result = restarted(scenario, lambda model: followed(model, name, schedule, recorded))
    result.verdict.explain = explainer(scenario, Origin(source, document.source.scenario, document.source.inputs))
    return result


def _scenario(archive: Path, document: Document, source: Path) -> Scenario:
    """The scenario of a document, within the bounds in which the violation was found."""
    name = document.source.scenario
    try:
        inputs = Inputs.from_json(document.source.inputs)
    except BadScenario as error:
        raise BadScenario(f"{archive}: {error.message}") from error
    scenarios = scenarios_in(source, inputs, names=[name])
    scenario = scenarios.get(name)
    if scenario is None:
        raise BadScenario(f"{source}: {not_among('scenario', name, scenarios)}")
    unknown = set(document.bounds) - set(STEP_BOUNDS)
    if unknown:
        raise BadScenario(f"{archive}: this version of kontend has no bounds {', '.join(sorted(unknown))}")
    try:
        bounds = dataclasses.replace(scenario.bounds, **document.bounds)
    except BadScenario as error:  # not the scenario's line: the file says so
        raise BadScenario(f"{archive}: {error.message}") from error
    return dataclasses.replace(scenario, bounds=bounds)
