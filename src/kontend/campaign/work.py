"""Carries out the tasks of a campaign, in a process that may be another one or on another machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, Final

import orjson
import xxhash

from kontend.campaign.unit import (
    NO_SOURCES,
    Exploration,
    FoundViolation,
    Listed,
    ListedScenario,
    Listing,
    LiveCommand,
    Report,
    Status,
    Task,
    UnitOutcome,
)
from kontend.executors.work import Work
from kontend.explore.explain.explanation import Origin
from kontend.explore.explain.results import explained_documents
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.model.model import Model
from kontend.explore.planned.plan import plan_of
from kontend.explore.planned.running import explore_plan
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.recheck import recheck, recorded_runs
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_documents import ENDINGS, scenario_documents
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.shards.user_modules import user_modules
from kontend.explore.sources.directories import scenarios_below
from kontend.explore.sources.inputs import Inputs, read_inputs
from kontend.explore.verdict import Verdict
from kontend.kube.errors import ApiError
from kontend.runtime.controller import BadController
from kontend.runtime.source_location import working_directory
from kontend.runtime.user_file import BadFile, file_of_module
from kontend.runtime.user_sources import UserCode

#: Errors whose messages are meant for users.
REFUSALS: Final = (BadScenario, BadController, BadFile, Nondeterminism, ApiError)
#: Runs of a scenario that are made again in other processes.
_RECHECKED: Final = 100
_STATUSES: Final[dict[int, Status]] = {0: "holds", 1: "violated", 2: "refused", 3: "undecided"}


def carry_out(task: Task, report: Callable[[Report], None]) -> UnitOutcome | Listed:
    """Carry out a task; ``report`` is called with its progress. Raises one of ``REFUSALS`` where it cannot be done."""
    if isinstance(task, Listing):
        return _listed(task, report)
    if isinstance(task, LiveCommand):
        return _live(task)
    task.sources.install()  # on a worker that may not have the files
    return _explored(task, report)


#: Carries out the tasks of a campaign.
WORK: Final = Work(carry_out, REFUSALS)


def _explored(unit: Exploration, report: Callable[[Report], None]) -> UnitOutcome:
    inputs = Inputs.from_json(unit.inputs)
    scenarios = scenarios_in(unit.file, inputs, names=[unit.scenario])
    if unit.scenario not in scenarios:
        raise BadScenario(f"{unit.file}: {not_among('scenario', unit.scenario, scenarios)}")
    scenario = scenarios[unit.scenario]
    if unit.bounds:
        scenario = replace(scenario, bounds=replace(scenario.bounds, **unit.bounds))
    origin = Origin((working_directory() / unit.file).resolve(), unit.scenario, inputs.to_json())
    runs: list[dict[str, Any]] = []

    def record(model: Model) -> None:
        if unit.recheck:
            runs.extend(recorded_runs(unit.scenario, model.programs, most=_RECHECKED))

    if unit.plan is not None:
        verdict = explore_plan(scenario, plan_of(unit.plan, f"{unit.title}: plan"), origin)
    else:
        options = SearchOptions(
            unit.search,  # type: ignore[arg-type]
            unit.seed,
            unit.walks,
            checkpoint=Path(unit.checkpoint) if unit.checkpoint else None,
            progress=report,
            deepen=unit.deepen,
            walk_on=True,
        )
        verdict = explore(scenario, options, inspect=record, origin=origin)
    if runs:
        recheck(unit.file, runs, inputs)
    return _outcome(verdict)


def _outcome(verdict: Verdict) -> UnitOutcome:
    documents = explained_documents(verdict)
    status: Status = "violated" if verdict.violations else "holds" if verdict.ok else "undecided"
    return UnitOutcome(
        status,
        verdict.summary,
        verdict.states,
        verdict.steps,
        tuple(
            FoundViolation(violation.property, " ".join(document.violation.sentence.split()), violation.token)
            for violation, document in zip(verdict.violations, documents, strict=True)
        ),
        verdict.explanation() if verdict.violations else "\n".join(verdict.notes),
        tuple(document.dump() for document in documents),
        verdict.certain,
    )


def _live(unit: LiveCommand) -> UnitOutcome:
    """Run ``kontend live``. A signal that ends this process ends it first."""
    arguments = [*unit.options, "--output-format=json", *([f"--failures={unit.failures}"] if unit.failures else [])]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "kontend.cli", "live", *arguments, "--", *unit.command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:

        def end(number: int, frame: FrameType | None) -> None:
            del number, frame
            process.terminate()
            process.wait()
            os._exit(1)

        signal.signal(signal.SIGTERM, end)
        output, errors = process.communicate()
    status = _STATUSES.get(process.returncode, "crashed")
    if status in ("refused", "crashed"):
        lines = [line for line in errors.splitlines() if line] or [f"it ended with {process.returncode}"]
        return UnitOutcome(status, lines[-1] if status == "crashed" else lines[0], details=errors.strip())
    return _live_outcome(status, orjson.loads(output))


def _live_outcome(status: Status, verdict: Mapping[str, Any]) -> UnitOutcome:
    """Return the outcome of a live command by its verdict as JSON."""
    violations = (
        *(FoundViolation(found["property"], found["sentence"]) for found in verdict["baseline"]["violations"]),
        *(FoundViolation(name, "it holds in no state of any run") for name in verdict["untested"]),
        *(
            FoundViolation(found["property"], found["sentence"], replay=found["trace"])
            for found in verdict["violations"]
        ),
    )
    carried_out = verdict["plans"]["carriedOut"]
    summaries = {
        "violated": f"{len(violations)} violated",
        "holds": f"no violation in {carried_out} plan{'s'[: carried_out != 1]}",
        "undecided": f"undecided: {verdict['undecided']}",
    }
    return UnitOutcome(status, summaries[status], violations=violations, details=verdict["text"])


# Listing


def _listed(task: Listing, report: Callable[[Report], None]) -> Listed:
    inputs = read_inputs(map(Path, task.crds), map(Path, task.objects), map(Path, task.actions))
    path, name = Path(task.target), ""
    broken: dict[Path, str] = {}
    if path.is_dir():
        below = scenarios_below(
            path, inputs, loading=lambda file: report(str(file)), broken=broken, leave_out=map(Path, task.leave_out)
        )
        listed = [listed for file, scenarios in below.items() for listed in _of_file(file, scenarios, inputs)]
    else:
        if not path.exists():
            module, _, name = task.target.partition(":")
            path = file_of_module(module)
        report(str(path))
        scenarios = scenarios_in(path, inputs, names=[name] if name else [])
        if name and name not in scenarios:
            raise BadScenario(f"{task.target}: {not_among('scenario', name, scenarios)}")
        listed = _of_file(path, {name: scenarios[name]} if name else scenarios, inputs)
    sources = UserCode.loaded() if task.with_sources else NO_SOURCES
    return Listed(tuple(listed), inputs.to_json(), tuple((str(file), why) for file, why in broken.items()), sources)


def _of_file(file: Path, scenarios: dict[str, Scenario], inputs: Inputs) -> list[ListedScenario]:
    documents = scenario_documents(file) if file.suffix in ENDINGS else {}
    return [
        ListedScenario(
            str(file), name, _code(file, scenario, inputs), documents[name][1] if name in documents else None
        )
        for name, scenario in scenarios.items()
    ]


def _code(file: Path, scenario: Scenario, inputs: Inputs) -> str:
    """Return a digest of everything that a scenario is made from."""
    digest = xxhash.xxh3_128()
    files = [file, *(Path(module.__file__) for module in user_modules(scenario) if module.__file__ is not None)]
    for source in files:
        content = source.read_bytes() if source.is_file() else b""
        digest.update(f"{len(content)}\n".encode() + content)
    described = [metadata.version("kontend"), scenario.objects, scenario.crds, scenario.bounds, inputs.to_json()]
    digest.update(repr(described).encode())
    return digest.hexdigest()
