"""Reports on runs of the zoo: the table, the same as JSON, and the description of one entry."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from kontend.zoo.entry import ARCHETYPES, Entry
from kontend.zoo.runs import NO_FAULTS, EntryOutcome, ScenarioRun

_HEAD: Final = ("bug", "class", "found by", "states", "steps", "ms", "twin", "states", "ms")


def table(outcomes: Sequence[EntryOutcome], seconds: float) -> str:
    """Return the table of all runs and the summary."""
    rows = [_HEAD, *(_row(outcome) for outcome in outcomes)]
    return "\n".join([*_aligned(rows), "", *_summary(outcomes, seconds)]) + "\n"


def guarded_table(outcomes: Sequence[EntryOutcome], seconds: float) -> str:
    """Return the table of buggy scenarios that were run with the guards on."""
    rows: list[tuple[str, ...]] = [("bug", "class", "with guards on", "violated property", "without faults")]
    answers: list[tuple[str, str]] = []
    for outcome in outcomes:
        runs = {run.scenario: run for run in outcome.buggy}
        for name, run in runs.items():
            if name.endswith(NO_FAULTS):
                continue
            answer, calm = _guarded(run), _guarded(runs.get(name + NO_FAULTS, run))
            answers.append((answer, calm))
            rows.append((_name(outcome.entry, run), outcome.entry.archetype, answer, run.found_by, calm))
    prevented, without = (sum(pair[at] == "holds" for pair in answers) for at in (0, 1))
    undecided = sum("undecided" in pair for pair in answers)
    end = (
        f"the guards prevent {prevented} of {len(answers)} bugs within the bounds, and {without} without faults "
        f"(crashes, failed calls, lost responses){f'; {undecided} undecided' * bool(undecided)}"
    )
    return "\n".join([*_aligned(rows), "", f"{end} ({seconds:.1f} s)"]) + "\n"


def _guarded(run: ScenarioRun) -> str:
    return "still broken" if run.violated else "holds" if run.exhausted else "undecided"


def document(outcomes: Sequence[EntryOutcome], seconds: float, *, guarded: bool = False) -> dict[str, Any]:
    """Return the results as JSON data."""
    bugs = [outcome for outcome in outcomes if outcome.buggy]
    return {
        "guarded": guarded,
        "entries": [_entry(outcome) for outcome in outcomes],
        "bugs": len(bugs),
        "found": sum(outcome.found for outcome in bugs),
        "foundByBuiltInProperties": sum(outcome.built_in for outcome in bugs),
        "falseAlarms": sum(len(outcome.false_alarms) for outcome in outcomes),
        "undecided": sum(len(outcome.undecided) for outcome in outcomes),
        "seconds": round(seconds, 3),
    }


def page(entry: Entry, outcome: EntryOutcome, guarded: EntryOutcome) -> str:
    """Show one entry in full: the description, the verdicts of its scenarios, and those with guards."""
    parts = [
        f"{entry.name}: {entry.title}",
        f"{entry.archetype}: {ARCHETYPES[entry.archetype]}\n{entry.link}\n{entry.path}",
        *(_wrapped(paragraph) for paragraph in entry.description.split("\n\n")),
    ]
    if entry.interleaving:
        parts.append(_wrapped(f"Interleaving: {entry.interleaving}"))
    if entry.fix:
        parts.append(_wrapped(f"Fix: {entry.fix}"))
    parts += [f"{run.scenario}:\n{run.text}" for run in outcome.runs]
    parts += [f"{run.scenario}, with all guards on:\n{run.text}" for run in guarded.buggy]
    parts.append(f"The same as an HTML page: kontend explore {entry.path} --html {entry.name}.html")
    return "\n\n".join(parts) + "\n"


def _row(outcome: EntryOutcome) -> tuple[str, ...]:
    entry = outcome.entry
    missed = next((run for run in outcome.buggy if not run.violated), None)
    first = missed or (outcome.buggy[0] if outcome.buggy else None)
    if first is None:
        cells = ("-", "", "", "")
    elif not first.violated:
        cells = ("MISSED" if first.exhausted else "UNDECIDED", *_count(first), "", _milliseconds(first))
    else:
        name = first.found_by if first.built_in else f"{first.found_by} (own)"
        cells = (name, *_count(first), str(first.steps), _milliseconds(first))
    twins = outcome.clean
    alarms, undecided = outcome.false_alarms, outcome.undecided
    answer = f"ALARM: {alarms[0].found_by}" if alarms else "not exhausted" if undecided else "clean"
    states = sum(run.states for run in twins)
    return (
        entry.name,
        entry.archetype,
        *cells,
        answer,
        f"{states:,}",
        f"{sum(run.seconds for run in twins) * 1e3:.0f}",
    )


def _summary(outcomes: Sequence[EntryOutcome], seconds: float) -> list[str]:
    bugs = [outcome for outcome in outcomes if outcome.buggy]
    detected, built_in = sum(outcome.found for outcome in bugs), sum(outcome.built_in for outcome in bugs)
    twins = [run for outcome in outcomes for run in outcome.clean]
    alarms = sum(len(outcome.false_alarms) for outcome in outcomes)
    undecided = sum(len(outcome.undecided) for outcome in outcomes)
    return [
        f"found {detected} of {len(bugs)} bugs, {built_in} by built-in properties alone{_share(built_in, len(bugs))}",
        f"{alarms} false alarm{'s' * (alarms != 1)} on {len(twins)} fixed twins and negative controls, "
        f"{len(twins) - undecided - alarms} of them exhausted",
        f"{seconds:.1f} s",
    ]


def _share(part: int, whole: int) -> str:
    return f" ({part * 100 // whole} %)" if whole else ""


def _entry(outcome: EntryOutcome) -> dict[str, Any]:
    entry = outcome.entry
    return {
        "name": entry.name,
        "title": entry.title,
        "link": entry.link,
        "archetype": entry.archetype,
        "found": outcome.found if outcome.buggy else None,
        "foundByBuiltInProperties": outcome.built_in if outcome.buggy else None,
        "scenarios": [
            {
                "name": run.scenario,
                "role": run.role,
                "violated": run.found_by or None,
                "sentence": run.sentence or None,
                "builtIn": run.built_in,
                "steps": run.steps,
                "perturbations": run.perturbations,
                "states": run.states,
                "exhausted": run.exhausted,
                "milliseconds": round(run.seconds * 1e3),
            }
            for run in outcome.runs
        ],
    }


def _name(entry: Entry, run: ScenarioRun) -> str:
    return entry.name if run.scenario == "buggy" else f"{entry.name} ({run.scenario})"


def _count(run: ScenarioRun) -> tuple[str]:
    return (f"{run.states:,}",)


def _milliseconds(run: ScenarioRun) -> str:
    return f"{run.seconds * 1e3:.0f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    numbers = [all(_is_number(row[at]) for row in rows[1:]) for at in range(len(widths))]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in rows
    ]


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(",", "").isdecimal()


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
