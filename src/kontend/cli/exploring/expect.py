"""``kontend explore FILE --expect PROPERTY``: tests the suspicion that a violation occurs.

Where it does, the nearest run that avoids it shows what makes the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.cli.command import ExitCode, UsageError, columns
from kontend.explore.problems import not_among
from kontend.explore.scenario import Scenario
from kontend.explore.verdict import Verdict
from kontend.report.decoding import encode
from kontend.report.document import Document
from kontend.report.inspection import first_difference
from kontend.report.text import render


def expected_property(text: str, scenarios: Mapping[str, Scenario]) -> str:
    """Return the name of a property, which may be written with hyphens for spaces."""
    names = list(dict.fromkeys(name for scenario in scenarios.values() for name in scenario.property_names()))
    for name in names:
        if text in (name, name.replace(" ", "-")):
            return name
    raise UsageError(f"--expect: {not_among('property', text, [name.replace(' ', '-') for name in names])}")


def occurrences(verdict: Verdict, name: str) -> list[Document]:
    """The documents of the violations of a property."""
    return [document for document in verdict.documents if document.violation.property == name]


def answer(scenario: str, verdict: Verdict, name: str, *, verbose: bool = False) -> str:
    """Says whether a violation occurs, and how the nearest run that avoids it differs."""
    documents = occurrences(verdict, name)
    if documents:
        parts = [f"{scenario}: {name} occurs", *(_with_difference(document, verbose=verbose) for document in documents)]
        return "\n".join(parts) + "\n"
    if verdict.exhausted:
        return f"{scenario}: {name} does not occur in all {verdict.states:,} states ({verdict.coverage})\n"
    return f"{scenario}: {name} was not found, which proves nothing: {verdict.stopped} ({verdict.coverage})\n"


def _with_difference(document: Document, *, verbose: bool) -> str:
    difference = first_difference(document)
    if difference is None:
        return f"{render(document, verbose=verbose, width=columns())}\n  No run that avoids it was found near this one."
    good = document.baseline or ()
    lines = [
        render(document, verbose=verbose, width=columns()),
        f"  The nearest run that avoids it has the same first {difference.common} steps; then",
        f"    this run:  {difference.failing.text if difference.failing is not None else 'ends'}",
        f"    that run:  {difference.good.text if difference.good is not None else 'ends'}",
    ]
    later = [step.text for step in good[difference.common + 1 :] if step.writes or step.failure]
    lines += [f"               {text}" for text in later[:8]]
    return "\n".join(lines)


def as_json(verdict: Verdict, name: str) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "property": name,
        "occurs": bool(occurrences(verdict, name)),
        "nearestGoodRun": [encode(first_difference(occurrence)) for occurrence in occurrences(verdict, name)],
    }


def exit_code(verdicts: Mapping[str, Verdict], name: str) -> ExitCode:
    """1 where the violation occurs, 0 where it does not, 3 where that is not known."""
    if any(violation.property == name for verdict in verdicts.values() for violation in verdict.violations):
        return ExitCode.FINDINGS
    return ExitCode.OK if all(verdict.exhausted for verdict in verdicts.values()) else ExitCode.UNDECIDED
