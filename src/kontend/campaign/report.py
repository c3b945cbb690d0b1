"""Outcomes of a campaign as text, JSON and JUnit XML. Nothing in them depends on time or on the number of processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final
from xml.etree import ElementTree

import orjson

from kontend.campaign.running import Result
from kontend.campaign.unit import Status, UnitOutcome

_WORDS: Final[dict[Status, str]] = {
    "holds": "hold",
    "violated": "violated",
    "undecided": "undecided",
    "refused": "refused",
    "crashed": "crashed",
}


def line_of(result: Result) -> str:
    """Return an outcome as one line, with one more for each violation."""
    outcome = result.outcome
    lines = [f"{outcome.status}: {printable(result.unit.title)}: {printable(_short(outcome))}"]
    for violation in outcome.violations:
        replay = f" (kontend replay {violation.replay})" if violation.replay else ""
        lines.append(f"  {printable(violation.property)}: {printable(violation.sentence)}{replay}")
    if outcome.status == "crashed" and outcome.details:
        lines += [f"  | {printable(line)}" for line in outcome.details.splitlines()[-5:]]
    return "\n".join(lines) + "\n"


def _short(outcome: UnitOutcome) -> str:
    return " ".join(outcome.summary.split())


def summary(outcomes: Iterable[UnitOutcome]) -> str:
    """Return the number of outcomes of each kind.

    >>> summary([UnitOutcome("holds", ""), UnitOutcome("holds", ""), UnitOutcome("violated", "")])
    '3 runs: 2 hold, 1 violated'
    """
    counts = Counter(outcome.status for outcome in outcomes)
    total = counts.total()
    parts = [f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status]]
    return f"{total} run{'s' * (total != 1)}: {', '.join(parts) or 'none'}"


def as_json(results: Sequence[Result]) -> bytes:
    """All outcomes as one document."""
    document: dict[str, Any] = {
        "results": [
            {"title": result.unit.title, **result.unit.description, **result.outcome.to_json()} for result in results
        ],
        "summary": {status: sum(result.outcome.status == status for result in results) for status in _WORDS},
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str) + b"\n"


def as_junit(results: Sequence[Result]) -> bytes:
    """JUnit XML: a suite for each file, a case for each unit. Undecided ones count as skipped."""
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.unit.suite, []).append(result)
    root = ElementTree.Element("testsuites", {"name": "kontend campaign", **_counts(results)})
    for name, members in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": printable(name), **_counts(members)})
        for result in members:
            title, outcome = printable(result.unit.title), result.outcome
            case = ElementTree.SubElement(suite, "testcase", classname=printable(name), name=title)
            message = printable(_short(outcome))
            if outcome.status == "violated":
                properties = ", ".join(dict.fromkeys(violation.property for violation in outcome.violations))
                attributes = {"type": printable(properties), "message": message}
                ElementTree.SubElement(case, "failure", attributes).text = printable(outcome.details)
            elif outcome.status == "undecided":
                ElementTree.SubElement(case, "skipped", message=message)
            elif outcome.status != "holds":
                attributes = {"type": outcome.status, "message": message}
                ElementTree.SubElement(case, "error", attributes).text = printable(outcome.details)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _counts(results: Sequence[Result]) -> dict[str, str]:
    counts = Counter(result.outcome.status for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(counts["violated"]),
        "errors": str(counts["refused"] + counts["crashed"]),
        "skipped": str(counts["undecided"]),
    }


def printable(text: str) -> str:
    """Return a text without the characters that XML does not have, or that control a terminal.

    >>> printable("a\\x1b[31m\\ud800b\\n")
    'a[31mb\\n'
    """
    return "".join(char for char in text if char in "\n\t" or (char.isprintable() and char not in "\ufffe\uffff"))
