"""The contents of a page: scenarios with their verdicts, and the documents of their violations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kontend.report.decoding import encode
from kontend.report.document import Document, Exploration
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
    """Groups documents by their scenarios, in the order of their first appearance.

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
    """The data that the page's script reads. Each document appears once, and its exploration with its scenario."""
    documents: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for scenario in scenarios:
        numbers = []
        for document in scenario.documents:
            numbers.append(len(documents))
            documents.append(_shown(document))
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


def _shown(document: Document) -> dict[str, Any]:
    """A document without the parts that only replaying needs."""
    shown = document.to_json()
    for name in ("schedule", "exploration", "token"):
        shown.pop(name)
    return shown
