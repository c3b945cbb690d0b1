"""The contents of a page: scenarios with their verdicts, and the documents of their violations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kontend.report.decoding import encode
from kontend.report.document import Document, Exploration, Write
from kontend.report.elements import is_element, joined, joined_differences, ordered, without_key
from kontend.report.timed import SweepResult, TimedRun


@dataclass(frozen=True, slots=True)
class PropertyResult:
    """A property of a scenario, and the outcome of its check."""

    name: str
    state: Literal["holds", "violated", "untested", "undecided"]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """A scenario with its verdict, as a page shows it."""

    name: str
    #: ``settles`` is for runs in virtual time that all come to rest: a sample, so nothing is shown to hold.
    verdict: Literal["holds", "violated", "undecided", "settles"]
    #: The verdict in one sentence.
    sentence: str = ""
    documents: tuple[Document, ...] = ()
    properties: tuple[PropertyResult, ...] = ()
    exploration: Exploration | None = None
    #: A sweep in virtual time.
    sweep: SweepResult | None = None
    #: Runs in virtual time.
    runs: tuple[TimedRun, ...] = ()


def results_of(documents: Iterable[Document]) -> tuple[ScenarioResult, ...]:
    """Group documents by their scenarios, in the order of their first appearance.

    >>> results_of([])
    ()
    """
    groups: dict[tuple[str, str], list[Document]] = {}
    for document in documents:
        groups.setdefault((document.source.file, document.source.scenario), []).append(document)
    return tuple(
        ScenarioResult(
            scenario or file or "trace",
            "violated",
            documents=tuple(members),
            exploration=next((member.exploration for member in members if member.exploration is not None), None),
        )
        for (file, scenario), members in groups.items()
    )


def page_data(title: str, scenarios: Sequence[ScenarioResult], **more: Any) -> Mapping[str, Any]:
    """Return the data that the page's script reads. Each document appears once, and its exploration with its
    scenario."""
    documents: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for scenario in scenarios:
        numbers = []
        for document in scenario.documents:
            numbers.append(len(documents))
            documents.append(shown(document))
        entries.append(
            {
                "name": scenario.name,
                "verdict": scenario.verdict,
                "sentence": scenario.sentence,
                "properties": encode(scenario.properties),
                "exploration": encode(scenario.exploration),
                "violations": numbers,
                "sweep": encode(scenario.sweep),
                "runs": encode(scenario.runs),
            }
        )
    return {"title": title, "scenarios": entries, "documents": documents, **more}


def shown(document: Document) -> dict[str, Any]:
    """Return a document as the page shows it: without the parts that only replaying needs, elements of lists as one
    change."""
    data = document.to_json()
    for name in ("schedule", "exploration", "token"):
        data.pop(name)
    data["violation"]["difference"] = [
        encode(replace(each, got=_element(each.path, each.got), expected=_element(each.path, each.expected)))
        for each in joined_differences(document.violation.difference)
    ]
    for steps, entries in ((document.steps, data["steps"]), (document.baseline or (), data["baseline"] or ())):
        for step, entry in zip(steps, entries, strict=True):
            for write, written in zip(step.writes, entry["writes"], strict=True):
                _add_changes(write, written)
    return data


def _add_changes(write: Write, written: dict[str, Any]) -> None:
    """Add the changes to show where they are others than the fields, which the history of a field needs."""
    changes = joined(write.fields)
    if any(is_element(change.path) for change in changes):
        written["changes"] = [
            encode(replace(each, before=_element(each.path, each.before), after=_element(each.path, each.after)))
            for each in changes
        ]


def _element(path: str, content: Any) -> Any:
    """Return a value, of an element of a list without what its path says already and with what decides first."""
    return ordered(without_key(path, content)) if is_element(path) else content
