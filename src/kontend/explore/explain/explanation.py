"""Trace documents of violations.

The schedule is followed once more; the cause is looked for by the kind of the property; the nearest good run shows what
should have come out.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from kontend.explanation.fix import Fix
from kontend.explanation.proposals import with_lines
from kontend.explanation.wording import sentence
from kontend.explore.explain.causes.cause import Cause
from kontend.explore.explain.causes.cycles import Round, cause_of_cycle, shortest_round
from kontend.explore.explain.causes.outcomes import cause_of_final_state, without_good_run
from kontend.explore.explain.causes.perturbations import perturbations
from kontend.explore.explain.causes.premises import wrong_premise
from kontend.explore.explain.causes.writes import cause_of_failure, cause_of_write, plain_cause
from kontend.explore.explain.final_states import differences
from kontend.explore.explain.lines import SourceLines, project_root
from kontend.explore.explain.nearest import nearest_good_run
from kontend.explore.explain.steps import StepWriter
from kontend.explore.explain.trail import Trail
from kontend.explore.model.model import Model
from kontend.explore.program.progress import Failure
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.sources.content import content_of
from kontend.explore.trace.schedule import dump_schedule
from kontend.explore.verdict import Violation
from kontend.report.document import Actor, Cycle, Difference, Document, Explanation, Source, Step
from kontend.report.document import Fix as DocumentFix
from kontend.runtime.source_location import working_directory
from kontend.runtime.user_sources import sent_source

_FILES: Final = re.compile(r'File "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Origin:
    """The file and the name of a scenario."""

    file: Path | None
    scenario: str = ""
    #: Definitions, objects and actions that were given beside the file.
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The root of the project."""
        return project_root(self.file) if self.file is not None else working_directory()


def origin_of(scenario: Scenario) -> Origin:
    """The file that makes a scenario, and the name that the scenario has there, as far as they are known."""
    line = scenario.line
    file = Path(line.file) if line is not None and Path(line.file).is_file() else None
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})  # attributes of lazy modules may import something
        if file is None or names.get("__file__") != str(file):
            continue
        scenarios = {name: value for name, value in list(names.items()) if isinstance(value, Scenario)}
        same = [name for name, value in scenarios.items() if value is scenario]
        alike = [name for name, value in scenarios.items() if _is_bounded_otherwise(value, scenario)]
        if same or alike:
            return Origin(file, (same or alike)[0])
    return Origin(file, scenario.name)


def _is_bounded_otherwise(value: Scenario, scenario: Scenario) -> bool:
    """Two scenarios are the same except for their bounds, as in tests with a profile."""
    return all(
        getattr(value, field.name) is getattr(scenario, field.name)
        for field in fields(Scenario)
        if field.name != "bounds"
    )


def explainer(scenario: Scenario, origin: Origin | None = None) -> Callable[[Violation], Document]:
    """A function that makes the trace documents of the violations of a scenario."""
    return lambda violation: explained(scenario, violation, origin or origin_of(scenario))


def explained(scenario: Scenario, violation: Violation, origin: Origin, *, strict: bool = False) -> Document:
    """The trace document of a violation.

    A violation must never go unreported because its explanation fails: it then gets a plain document, unless
    ``strict``.
    """
    try:
        return restarted(scenario, lambda model: _Explaining(model, violation, origin).document())
    except Exception as error:
        if strict:
            raise
        return _plain(violation, origin, f"{type(error).__name__}: {error}")


class _Explaining:
    """One violation on its way to a document."""

    def __init__(self, model: Model, violation: Violation, origin: Origin) -> None:
        self._model = model
        self._violation = violation
        self._origin = origin
        self._lines = SourceLines(origin.root)
        self._writer = StepWriter(self._lines)
        self._trail = Trail(model, violation.schedule)
        self._end = self._trail.world
        self._cycle: Round | None = None
        if violation.property in (BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER):
            shortest = shortest_round(self._trail, writes=violation.property == BuiltIn.NEVER_SETTLES)
            if shortest is not None:
                self._trail, self._cycle = shortest
        self._good: Trail | None = None
        if violation.schedule and not (self._cycle is not None and not violation.perturbations):
            good = nearest_good_run(model, violation.property, violation.schedule, self._end)
            self._good = Trail(model, good.schedule) if good is not None else None

    def document(self) -> Document:
        scenario, trail, violation = self._model.scenario, self._trail, self._violation
        explanation = self._explanation()
        for number in explanation.culprits:
            reconcile = trail.steps[number - 1].reconcile
            if reconcile is not None:
                reconcile.matters = True
        steps = self._writer.steps(trail)
        baseline = self._writer.steps(self._good) if self._good is not None else None
        initial = self._writer.initial(trail)
        return Document(
            source=self._source(),
            violation=explanation,
            steps=steps,
            schedule=tuple(dump_schedule(violation.schedule)),
            actors=(
                *(Actor(name, "instance") for name in self._model.layout.actors()),
                *(Actor(name, "user") for name in dict.fromkeys(user.name for user in scenario.everybody())),
                Actor("server", "server"),
            ),
            objects=self._writer.objects,
            initial=initial,
            baseline=baseline,
            bounds=scenario.bounds.of_steps(),
            guards=scenario.guards.on,
            sources=self._lines.around,
            versions=_versions(),
            token=violation.token,
        )

    def _source(self) -> Source:
        file = self._origin.file
        if file is None:
            return Source("", self._origin.scenario)
        sent = sent_source(file)  # to this process, which may not have the file
        content = sent.text.encode() if sent is not None else content_of(file) if file.exists() else None
        digest = hashlib.sha256(content).hexdigest() if content is not None else ""
        return Source(self._lines.relative(file), self._origin.scenario, digest, self._origin.inputs)

    def _explanation(self) -> Explanation:
        violation, trail = self._violation, self._trail
        difference = self._difference()
        cause = self._cause(difference)
        failure = trail.steps[-1].transition.failure if trail.steps else None
        return Explanation(
            violation.property,
            cause.sentence,
            cause.culprits,
            self._fix(cause.fix) if cause.fix is not None else None,
            perturbations(trail),
            difference,
            self._round(),
            self._traceback(failure) if failure is not None and violation.property == BuiltIn.EXCEPTION else None,
            how=violation.how,
            count=violation.count,
        )

    def _fix(self, fix: Fix) -> DocumentFix:
        """A fix in words, with its line."""
        shown = with_lines(fix)
        line = self._lines.line(fix.place)
        return DocumentFix(sentence(shown), line, shown.remedy.value, shown.before, shown.after)

    def _traceback(self, failure: Failure) -> str | None:
        """The traceback of an exception, with paths as in the rest of the document."""
        return _FILES.sub(lambda match: f'File "{self._lines.relative(match[1])}"', failure.traceback) or None

    def _round(self) -> Cycle | None:
        cycle = self._cycle
        if cycle is None:
            return None
        return Cycle(cycle.first, cycle.last, tuple(write.change for write in cycle.writes))

    def _difference(self) -> tuple[Difference, ...]:
        """The final state against that of the good run, where the violation is about final states."""
        if self._good is None or not self._is_about_the_end:
            return ()
        return differences(self._end.state, self._good.world.state, self._model.ignored)

    @property
    def _is_about_the_end(self) -> bool:
        name = self._violation.property
        settling = {prop.name for prop in self._model.scenario.properties if prop.mode == "eventually"}
        return name in (BuiltIn.DIVERGED, BuiltIn.LEAK) or name in settling

    def _cause(self, difference: tuple[Difference, ...]) -> Cause:
        trail, violation = self._trail, self._violation
        name, otherwise = violation.property, Cause(violation.sentence)
        if self._cycle is not None and self._cycle.writes:
            return cause_of_cycle(trail, self._cycle)
        if not trail.steps:
            return otherwise
        last = trail.steps[-1]
        if self._is_about_the_end:
            if self._good is None:
                return without_good_run(trail, violation.plain or violation.sentence, name)
            return cause_of_final_state(trail, self._good, difference) or otherwise
        if name in (BuiltIn.EXCEPTION, BuiltIn.FAILS_FOREVER):
            return cause_of_failure(trail) or otherwise
        if name == BuiltIn.NEVER_SETTLES:
            return otherwise
        return (
            cause_of_write(trail, last, name=name)
            or wrong_premise(trail, last, name)
            or plain_cause(trail, last, name)
            or otherwise
        )


def _versions() -> dict[str, str]:
    try:
        version = metadata.version("kontend")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    return {"kontend": version, "python": platform.python_version()}


def _plain(violation: Violation, origin: Origin, why: str) -> Document:
    """A document with the lines of the trace alone."""
    return Document(
        source=Source("" if origin.file is None else SourceLines(origin.root).relative(origin.file), origin.scenario),
        violation=Explanation(
            violation.property, f"{violation.sentence}\n(the cause could not be worked out: {why})", how=violation.how
        ),
        steps=tuple(
            Step(number, "", step.action, text)
            for number, (step, text) in enumerate(zip(violation.schedule, violation.trace, strict=False), 1)
        ),
        schedule=tuple(dump_schedule(violation.schedule)),
        versions=_versions(),
        token=violation.token,
    )
