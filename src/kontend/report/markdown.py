"""A trace document as a bug report in Markdown, ready for an issue tracker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from shlex import quote
from typing import Final

from kontend.report.archive import slug
from kontend.report.document import Document
from kontend.report.inspection import first_difference
from kontend.report.text import difference_lines, trace_lines

#: Characters that begin markup in a line, and those that do so at its start.
_MARKUP: Final = re.compile(r"[\\`*<>|~]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[#+=-]|(?<=^\d)[.)]")
#: Characters after which issue trackers look for a name or a number.
_LINKS: Final = re.compile(r"@(?=\w)|#(?=\d)|(?<=\bGH)-(?=\d)")


def markdown(document: Document, *, archive: str = "") -> str:
    """Return a bug report; ``archive`` is the file to attach and to replay."""
    return "\n".join(_lines(document, archive or f"{slug(document)}.zip")).rstrip() + "\n"


def _lines(document: Document, archive: str) -> Iterator[str]:
    violation, source = document.violation, document.source
    names = ", ".join((violation.property, *violation.also))
    yield f"## {plain(names)}: {_title(document)}\n"
    yield f"{plain(violation.sentence)}\n"
    if violation.perturbations:
        yield f"Perturbed by {plain('; '.join(violation.perturbations))}.\n"
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
        where = f" at {code(str(violation.fix.line))}" if violation.fix.line is not None else ""
        text = violation.fix.text
        yield f"{plain(text[:1].upper() + text[1:])}{where}.\n"
        if violation.fix.diff:
            yield from _block(list(violation.fix.diff), "diff")
        elif violation.fix.line is not None and violation.fix.line.text:
            yield from _block([violation.fix.line.text], "python")
    if violation.verified is not None:
        yield "### Verified fix\n"
        for hunk in violation.verified.hunks:
            yield f"{code(f'{violation.verified.file}:{hunk.line}')} ({plain(violation.verified.proof)}):\n"
            yield from _block(list(hunk.diff), "diff")
    yield "### Scenario\n"
    yield from _scenario(document)
    yield "### How to reproduce\n"
    if violation.how == "recorded":
        yield f"Recorded in {plain(source.scenario)}, which {code(archive)} quotes.\n"
        yield from _block([f"kontend inspect {quote(archive)}"], "sh")
    if source.file:
        yield from _block([f"kontend replay {quote(archive)}", f"{_again(document)}   # or search again"], "sh")
        others = [f"--{name}" for name in source.inputs if name != "ignore"]
        if others:
            yield f"The search took {plain(', '.join(others))} beside; {code(archive)} holds what they gave.\n"
    if document.token:
        test = ["from kontend.explore import check, reproduce", "", f'@reproduce("{document.token}")']
        yield from _block([*test, "def test_regression() -> None:", "    assert check(scenario)"], "python")
    yield "### Versions\n"
    yield ", ".join(f"{name} {version}" for name, version in sorted(document.versions.items())) + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no mention of anybody, no link to another issue.

    A backslash does not keep GitHub from linking ``@name`` and ``name#2``, so an empty comment comes in between.

    >>> print(plain("nodes#2 wrote *<uid>* for @team"))
    nodes#<!-- -->2 wrote \\*\\<uid\\>\\* for @<!-- -->team
    """
    escaped = _MARKUP.sub(r"\\\g<0>", " ".join(text.split())).replace("&", "&amp;")
    return _LINKS.sub(r"\g<0><!-- -->", escaped)


def code(text: str) -> str:
    """Text as code in a line; its fence is longer than any that is in it.

    >>> code("a"), code("`a` and ``b``")
    ('`a`', '``` `a` and ``b`` ```')
    """
    line = " ".join(text.split())
    fence = "`" * (max((len(run) for run in _runs(line)), default=0) + 1)
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def _title(document: Document) -> str:
    steps = len(document.steps)
    return f"{steps} step{'s' * (steps != 1)}" if steps else "violated"


def _again(document: Document) -> str:
    """Return the command of the search that found the violation.

    It names all bounds: those of the scenario may have changed since.
    """
    source = document.source
    # Scenarios of Python and YAML are in files, those of Go in a directory.
    words = ["kontend", "explore", *([] if PurePath(source.file).suffix else ["--go"]), quote(source.file)]
    if source.scenario:
        words += ["--scenario", quote(source.scenario)]
    for name, value in document.bounds.items():
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, int) and not isinstance(value, bool):
            words += [f"--{name}", str(value)]
    for field in source.inputs.get("ignore", ()):
        words += ["--ignore", quote(field)]
    return " ".join(words)


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
    yield f"{same}; where this run has {code(difference.failing.text)}, it has {code(difference.good.text)}.\n"


def _scenario(document: Document) -> Iterator[str]:
    source = document.source
    if source.file:
        name = f"{code(source.scenario)} in " if source.scenario else ""
        yield f"- {name}{code(source.file)}" + (f" (sha256 {source.digest[:16]})" if source.digest else "")
    instances = [actor.name for actor in document.actors if actor.type == "instance"]
    if instances:
        yield f"- instances: {plain(', '.join(instances))}"
    if document.initial:
        yield f"- objects: {plain(', '.join(sorted(document.initial)))}"
    acts = [step.text for step in document.steps if step.action == "act"]
    if acts:
        yield f"- the user: {plain('; '.join(text.removeprefix('the user ') for text in acts))}"
    if document.violation.how == "recorded":
        yield f"- the audit log {plain(source.scenario)}\n"
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
    """Return the runs of backticks in a line."""
    return "".join(letter if letter == "`" else " " for letter in line).split()
