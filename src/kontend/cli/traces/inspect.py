"""``kontend inspect FILE``: questions about a trace, answered without running anything."""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from kontend.cli.command import ExitCode, Parser, UsageError, columns, usage_errors, write
from kontend.report.archive import BadTrace, read_archive
from kontend.report.decoding import encode
from kontend.report.document import Document, Step, Write
from kontend.report.inspection import (
    BadQuestion,
    caches,
    fields_of,
    find_object,
    first_difference,
    object_after,
    object_in_cache,
    step_at,
    writes_of,
)
from kontend.report.text import difference_lines, heading, render, step_lines, trace_lines, value

#: A text and the same as JSON.
Answer = tuple[str, Any]

_QUESTIONS: Final = """\
questions:
  kontend inspect FILE                          the explanation, with the trace
  kontend inspect FILE... failures              a line for each file
  kontend inspect FILE steps                    all steps
  kontend inspect FILE step 5                   one step: its call, reads, writes, line and what the caches held
  kontend inspect FILE object ConfigMap/c at 5  an object after a step: on the server, and in each cache
  kontend inspect FILE who data.next            the writes of a field, each with the version that its writer had read
  kontend inspect FILE who data.next of ConfigMap/c
  kontend inspect FILE diff                     the final state, and the failing run, against the nearest good run
  kontend inspect FILE diff 3 6                 how the objects differ between two steps

exit codes: 0 answered, 2 usage error"""


def run(argv: Sequence[str]) -> int:
    """Run ``kontend inspect``."""
    options = parser().parse_args(list(argv))
    paths, question = _split(options.words)
    with usage_errors(BadTrace, BadQuestion):
        documents = {str(path): read_archive(path) for path in paths}
        if question[:1] == ["failures"]:
            text, document = _failures(documents)
        else:
            if len(paths) != 1:
                raise UsageError(f"expected one trace, found {len(paths)}: only `failures` takes several")
            text, document = _answer(documents[str(paths[0])], question, options)
    if options.output_format == "json":
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    write(text.rstrip("\n") + "\n")
    return ExitCode.OK


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend inspect",
        usage="kontend inspect FILE [QUESTION] [--verbose] [--output-format {text,json}]",
        description="Answer questions about a trace. Nothing is run.",
        examples={
            "the trace": "kontend inspect failures/lost_update.zip",
            "who wrote a field": "kontend inspect failures/lost_update.zip who status.phase",
            "one step": "kontend inspect failures/lost_update.zip step 3",
        },
        topic="traces",
        epilog=_QUESTIONS,
    )
    add = made.add_argument
    add("words", nargs="+", metavar="FILE [QUESTION]", help="a file that kontend explore has written, and a question")
    add("--verbose", "-v", action="store_true", help="show every step and every field")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    return made


def _split(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files, and the question after them."""
    paths = [Path(words[0])]
    rest = list(words[1:])
    while rest and rest[0] not in _ANSWERS and Path(rest[0]).suffix == ".zip":
        paths.append(Path(rest.pop(0)))
    return paths, rest


def _failures(documents: dict[str, Document]) -> Answer:
    lines = [f"{path}: {heading(document)}\n  {document.violation.sentence}" for path, document in documents.items()]
    entries = [
        {
            "file": path,
            "property": document.violation.property,
            "sentence": document.violation.sentence,
            "steps": len(document.steps),
            "culprits": list(document.violation.culprits),
        }
        for path, document in documents.items()
    ]
    return "\n".join(lines), entries


def _answer(document: Document, question: list[str], options: Namespace) -> Answer:
    if not question:
        return render(document, verbose=options.verbose, width=columns()), document.to_json()
    name, *arguments = question
    if name == "steps":
        _expect(arguments, 0, "steps")
        lines = trace_lines(document.steps, document.violation, fold=False, verbose=options.verbose)
        return "\n".join(lines), encode(document.steps)
    answer = _ANSWERS.get(name)
    if answer is None:
        raise UsageError(f"no question {name!r}; there are: failures, steps, {', '.join(_ANSWERS)}\n{_QUESTIONS}")
    return answer(document, arguments)


def _step(document: Document, arguments: list[str]) -> Answer:
    _expect(arguments, 1, "step N")
    step = step_at(document, _number(arguments[0]))
    lines = [f"step {step.number} by {step.actor}: {step.text}"]
    lines += [f"  {line}" for line in step_lines(step, verbose=True)]
    if step.number in document.violation.culprits:
        lines.append("  at fault")
    if step.cost:
        lines.append(f"  perturbations: {step.cost}")
    if step.response is not None:
        lines.append(f"  response: {step.response}")
    lines += _details(document, step)
    lines += _source(document, step)
    return "\n".join(lines), encode(step)


def _details(document: Document, step: Step) -> list[str]:
    lines = []
    for read in step.reads:
        lag = "" if read.version == read.latest else f", the server has {read.latest or 'none'}"
        lines.append(f"  read {read.object}: version {read.version or 'none'}{lag}")
    if step.reads_omitted:
        lines.append(f"  and {step.reads_omitted} more objects")
    for one in step.writes:
        base = f", from version {one.base}{_read_in(one, ' read in step {}')}" if one.base is not None else ""
        lines.append(f"  wrote {one.object}: version {one.version}{base}")
        for cache in caches(document):
            held = object_in_cache(document, one.object, step.number, cache)
            version = held["metadata"]["resourceVersion"] if held is not None else "none"
            lines.append(f"    the cache of {cache} then has version {version}")
    return lines


def _read_in(write: Write, text: str) -> str:
    """Names the step in which the writer read its base, if the trace has it."""
    return text.format(write.base_step) if write.base_step is not None else ""


def _source(document: Document, step: Step) -> list[str]:
    if step.line is None:
        return []
    function = f", in {step.line.function}" if step.line.function else ""
    lines = [f"  {step.line}{function}"]
    around = document.sources.get(step.line.file, {})
    for number in sorted(map(int, around)):
        if abs(number - step.line.line) <= 3:
            mark = "►" if number == step.line.line else " "
            lines.append(f"  {mark} {number:>4}  {around[str(number)]}")
    return lines


def _object(document: Document, arguments: list[str]) -> Answer:
    if len(arguments) > 2 and arguments[-2] == "at":
        number, words = _number(arguments[-1]), arguments[:-2]
    else:
        number, words = len(document.steps), arguments
    if not words:
        raise UsageError(f"object: which one?\n{_QUESTIONS}")
    if number:
        step_at(document, number)
    name = find_object(document, " ".join(words))
    server = object_after(document, name, number)
    held = {cache: object_in_cache(document, name, number, cache) for cache in caches(document)}
    lines = [f"{name} after step {number}, on the server:", _yaml(server)]
    for cache, obj in held.items():
        if obj == server:
            lines.append(f"the cache of {cache} has the same")
        else:
            lines += [f"in the cache of {cache}, which is stale (-) against the server (+):", _diff(obj, server)]
    return "\n".join(lines), {"object": name, "step": number, "server": server, "caches": held}


def _who(document: Document, arguments: list[str]) -> Answer:
    words = [word for word in arguments if word != "wrote"]
    if not words:
        raise UsageError(f"who: which field?\n{_QUESTIONS}")
    path, rest = words[0].removeprefix("."), words[1:]
    if rest[:1] == ["of"]:
        names = [find_object(document, " ".join(rest[1:]))]
    else:
        names = [name for name in _written(document) if any(True for _ in writes_of(document, name, path))]
    writes = [write for name in names for write in writes_of(document, name, path)]
    if not writes:
        fields = sorted({field for name in _written(document) for field in fields_of(document, name)})
        raise BadQuestion(f"no step writes {path}; the fields that are written: {', '.join(fields) or 'none'}")
    lines, entries = [], []
    for written in writes:
        step, one, change = written.step, written.write, written.change
        base = (
            f"from version {one.base}{_read_in(one, ' (read in step {})')}"
            if one.base is not None
            else "without a read"
        )
        if step.action == "act":
            base = "by a user"
        mark = "►" if step.number in document.violation.culprits else " "
        where = f"  [{step.line}]" if step.line is not None else ""
        lines.append(
            f"{mark} step {step.number}: {step.actor} wrote {change.path} of {one.object} {base}, as version "
            f"{one.version}: {value(change.before)} → {value(change.after)}{where}"
        )
        entries.append({"step": step.number, "actor": step.actor, "write": encode(one), "field": encode(change)})
    return "\n".join(lines), entries


def _diff_question(document: Document, arguments: list[str]) -> Answer:
    if arguments:
        _expect(arguments, 2, "diff N M")
        return _between(document, _number(arguments[0]), _number(arguments[1]))
    lines = list(difference_lines(document.violation.difference, verbose=True)) if document.violation.difference else []
    difference = first_difference(document)
    if difference is not None:
        lines.append(f"  the first {difference.common} steps are those of the nearest good run; then")
        lines.append(f"  this run:     {difference.failing.text if difference.failing else 'ends'}")
        lines.append(f"  the good run: {difference.good.text if difference.good else 'ends'}")
    if not lines:
        lines = ["no good run is known to compare with"]
    document_json = {
        "difference": encode(document.violation.difference),
        "first": encode(difference) if difference is not None else None,
    }
    return "\n".join(lines), document_json


def _between(document: Document, first: int, last: int) -> Answer:
    for number in (first, last):
        if number:
            step_at(document, number)
    lines: list[str] = []
    changed = {}
    for name in sorted({*document.initial, *_written(document)}):
        one, other = object_after(document, name, first), object_after(document, name, last)
        if one != other:
            changed[name] = {"before": one, "after": other}
            lines += [name, _diff(one, other)]
    return "\n".join(lines) or "no object differs", changed


def _written(document: Document) -> list[str]:
    return list(dict.fromkeys(write.object for step in document.steps for write in step.writes))


_ANSWERS: Final[dict[str, Callable[[Document, list[str]], Answer]]] = {
    "step": _step,
    "object": _object,
    "who": _who,
    "diff": _diff_question,
}


def _expect(arguments: list[str], count: int, usage: str) -> None:
    if len(arguments) != count:
        raise UsageError(f"expected: kontend inspect FILE {usage}")


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"expected the number of a step, found {text!r}")
    return int(text)


def _yaml(obj: Any) -> str:
    if obj is None:
        return "  (does not exist)"
    text: str = yaml.safe_dump(obj, sort_keys=True, allow_unicode=True)
    return "".join(f"  {line}\n" for line in text.splitlines()).rstrip("\n")


def _diff(one: Any, other: Any) -> str:
    lines = difflib.unified_diff(_yaml(one).splitlines(), _yaml(other).splitlines(), lineterm="", n=2)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))
