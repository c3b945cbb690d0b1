"""A trace document as a bug report in Markdown, ready for an issue tracker."""

from __future__ import annotations

from collections.abc import Iterator

from kontend.report.archive import slug
from kontend.report.document import Document
from kontend.report.inspection import first_difference
from kontend.report.text import difference_lines, trace_lines


def markdown(document: Document, *, archive: str = "") -> str:
    """A bug report; ``archive`` is the file to attach and to replay."""
    return "\n".join(_lines(document, archive or f"{slug(document)}.zip")).rstrip() + "\n"


def _lines(document: Document, archive: str) -> Iterator[str]:
    violation, source = document.violation, document.source
    names = ", ".join((violation.property, *violation.also))
    yield f"## {names}: {_title(document)}\n"
    yield f"{violation.sentence}\n"
    if violation.perturbations:
        yield f"Perturbed by {'; '.join(violation.perturbations)}.\n"
    if violation.traceback:
        yield from _block(violation.traceback.splitlines(), "python")
    yield "### Steps\n"
    counted = ", counted from the start of the run" if violation.how != "recorded" else ""
    yield f"► marks the steps at fault; versions are resourceVersions{counted}.\n"
    yield from _block(trace_lines(document.steps, violation))
    if violation.cycle is not None:
        yield f"Steps {violation.cycle.first} to {violation.cycle.last} repeat forever.\n"
    if violation.difference:
        yield "### Final state\n"
        first, *lines = difference_lines(violation.difference)
        yield f"{first.strip()}\n"
        yield from _block([line.removeprefix("    ") for line in lines], "diff")
    yield from _good_run(document)
    if violation.fix is not None:
        yield "### Suggested fix\n"
        where = f" at `{violation.fix.line}`" if violation.fix.line is not None else ""
        yield f"{violation.fix.text[0].upper()}{violation.fix.text[1:]}{where}.\n"
        if violation.fix.line is not None and violation.fix.line.text:
            yield from _block([violation.fix.line.text], "python")
    yield "### Scenario\n"
    yield from _scenario(document)
    yield "### How to reproduce\n"
    if violation.how == "recorded":
        yield f"Recorded in {source.scenario}, which `{archive}` quotes.\n"
        yield from _block([f"kontend inspect {archive}"], "sh")
    if source.file:
        again = f"kontend explore {source.file}" + (f" --scenario {source.scenario}" if source.scenario else "")
        yield from _block([f"kontend replay {archive}", f"{again}   # or search again"], "sh")
    if document.token:
        test = ["from kontend.explore import check, reproduce", "", f'@reproduce("{document.token}")']
        yield from _block([*test, "def test_regression() -> None:", "    assert check(scenario)"], "python")
    yield "### Versions\n"
    yield ", ".join(f"{name} {version}" for name, version in sorted(document.versions.items())) + "\n"


def _title(document: Document) -> str:
    steps = len(document.steps)
    return f"{steps} step{'s' * (steps != 1)}" if steps else "violated"


def _good_run(document: Document) -> Iterator[str]:
    difference = first_difference(document)
    if difference is None or difference.failing is None or difference.good is None:
        return
    yield "### Nearest good run\n"
    same = (
        "It differs from the first step on"
        if not difference.common
        else (f"It has the same first {difference.common} steps")
    )
    yield f"{same}; where this run has `{difference.failing.text}`, it has `{difference.good.text}`.\n"


def _scenario(document: Document) -> Iterator[str]:
    source = document.source
    if source.file:
        name = f"`{source.scenario}` in " if source.scenario else ""
        yield f"- {name}`{source.file}`" + (f" (sha256 {source.digest[:16]})" if source.digest else "")
    instances = [actor.name for actor in document.actors if actor.type == "instance"]
    if instances:
        yield f"- instances: {', '.join(instances)}"
    if document.initial:
        yield f"- objects: {', '.join(sorted(document.initial))}"
    acts = [step.text for step in document.steps if step.action == "act"]
    if acts:
        yield f"- the user: {'; '.join(text.removeprefix('the user ') for text in acts)}"
    if document.violation.how == "recorded":
        yield f"- the audit log {source.scenario}\n"
        return
    if document.bounds:
        yield f"- bounds: {', '.join(f'{name}={value}' for name, value in sorted(document.bounds.items()))}"
    yield f"- guards that are on: {', '.join(document.guards) or 'none'}\n"


def _block(lines: Iterator[str] | list[str], language: str = "") -> Iterator[str]:
    """Lines as code. The fence is longer than any that is in them."""
    content = list(lines)
    longest = max((len(run) for line in content for run in _runs(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from content
    yield f"{fence}\n"


def _runs(line: str) -> list[str]:
    """The runs of backticks in a line."""
    return "".join(letter if letter == "`" else " " for letter in line).split()
