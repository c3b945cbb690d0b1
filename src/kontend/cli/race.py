"""``kontend race FILE...``: finds races in Kubernetes audit logs."""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, at_least, columns, usage_errors, write
from kontend.race.analysis import Options, Result, analyse
from kontend.race.documents import documents_of
from kontend.race.finding import PROPERTIES
from kontend.race.log.log_files import STDIN, BadLog, Reading, events_of
from kontend.race.log.selection import Selection
from kontend.report.decoding import encode
from kontend.report.document import Document
from kontend.report.page.contents import PropertyResult, ScenarioResult
from kontend.report.page.page import page
from kontend.report.saving import page_beside, save
from kontend.report.text import render
from kontend.safe_files import write_whole

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FULL: Final = "RequestResponse"


def run(argv: Sequence[str]) -> int:
    """Run ``kontend race``."""
    options = parser().parse_args(list(argv))
    reading = Reading()
    with usage_errors(BadLog):
        result = analyse(events_of(options.files, reading), _options(options))
    if not reading.events:
        _say_bad(reading)
        raise UsageError(f"{', '.join(options.files)}: no audit event in {reading.lines:,} lines; {_EXPECTED}")
    documents = documents_of(result.findings, options.files)
    files = [_saved(options.failures, document) for document in documents]
    if options.html is not None:
        _write_page(options.html, documents, result)
    _say_bad(reading)
    if options.output_format == "json":
        write(orjson.dumps(_json(documents, files, result, reading), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        write("\n".join(_text(documents, files, result, reading, options)) + "\n")
    if documents:
        return ExitCode.FINDINGS
    return ExitCode.UNDECIDED if reading.bad or reading.late or _undecided(result) else ExitCode.OK


_EXPECTED: Final = (
    "expected JSON lines of audit.k8s.io/v1, as kube-apiserver --audit-log-path writes them, or an export of "
    "CloudWatch, Cloud Logging, Azure or OpenShift"
)


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend race",
        description="Find lost updates, blind overwrites, stale writes, fights and hot loops in Kubernetes audit logs "
        "of the level RequestResponse: those of a cluster, or of kontend serve --audit-log.",
        examples={
            "the log of a cluster": "kontend race audit.log",
            "one kind in the last quarter of an hour": "kontend race audit.log --since 15m --kind Deployment",
            "a page of all findings": "kontend race audit.log --html races.html",
        },
        topic="race",
        epilog="Exit codes: 0 nothing found, 1 findings, 2 usage error, 3 nothing found, and not everything could be "
        "judged: suspected writes, lines that cannot be read or come too late, or no write with its objects.",
    )
    add = made.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="an audit log, also compressed with gzip or zstd; - for the standard input",
    )
    add("--since", type=_time, metavar="TIME", help="judge writes from here on: 2026-11-16T10:00:00Z, or 15m ago")
    add("--until", type=_time, metavar="TIME", help="judge writes up to here")
    add("--namespace", "-n", action="append", default=[], metavar="NAME", help="only this namespace (repeatable)")
    add("--kind", action="append", default=[], metavar="KIND", help="only this kind or resource (repeatable)")
    add(
        "--lag",
        type=_duration,
        default=0.0,
        metavar="TIME",
        help="count writes as blind that arrive within TIME of another's, such as 50ms, although a watch may have "
        "shown it to their writer (default: 0)",
    )
    add("--loop", type=at_least(5), default=20, metavar="N", help="writes in a row that make a hot loop (default: 20)")
    add(
        "--failures",
        type=Path,
        default=Path("failures"),
        metavar="DIR",
        help="directory for traces (default: failures)",
    )
    add("--html", type=Path, metavar="FILE", help="write all findings as one HTML page")
    add("--verbose", "-v", action="store_true", help="show every field of a trace")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    return made


def _options(options: Namespace) -> Options:
    if options.since is not None and options.until is not None and options.since > options.until:
        raise UsageError("--since: expected a time before --until")
    if options.files.count(STDIN) > 1:
        raise UsageError("-: the standard input can be read only once")
    selection = Selection(options.since, options.until, frozenset(options.namespace), frozenset(options.kind))
    return Options(lag=options.lag, loop=options.loop, selection=selection)


def _time(text: str) -> float:
    """A time, or how long ago it was."""
    if _DURATION.fullmatch(text):
        return time.time() - _duration(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a time such as 2026-11-16T10:00:00Z or 15m, found {text}") from None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def _duration(text: str) -> float:
    matched = _DURATION.fullmatch(text)
    if matched is None and not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(f"expected a time such as 50ms, 2s or 5m, found {text}")
    return float(matched[1]) * _SECONDS[matched[2]] if matched is not None else float(text)


# Output


def _say_bad(reading: Reading) -> None:
    for line in reading.named:
        sys.stderr.write(f"kontend race: {line}\n")
    if reading.bad > len(reading.named):
        sys.stderr.write(f"kontend race: and {reading.bad - len(reading.named):,} more lines cannot be read\n")


def _saved(directory: Path, document: Document) -> str:
    """Write a trace and its page; returns the path, or nothing if it cannot be written. It is printed anyway."""
    try:
        return str(save(directory, document))
    except OSError as error:
        sys.stderr.write(f"kontend race: the trace is not saved: {error}\n")
        return ""


def _write_page(path: Path, documents: Sequence[Document], result: Result) -> None:
    name = documents[0].source.scenario if documents else "audit log"
    violated = {document.violation.property for document in documents}
    properties = [PropertyResult(prop, "violated" if prop in violated else "undecided") for prop in PROPERTIES]
    summary = _summary(documents, result)
    results = [
        ScenarioResult(name, "violated" if documents else "undecided", summary, tuple(documents), tuple(properties))
    ]
    try:
        write_whole(path, page(results, title=name))
    except OSError as error:
        raise UsageError(f"--html: {path}: {error.strerror}") from error


def _undecided(result: Result) -> bool:
    """Decide whether "nothing found" would say too much: no write could be judged, or some are suspected.

    A suspected write replaced a value of another client that a watch may have shown to the writer, or followed another
    client's write and was logged without its objects. Exit code 0 would read as a verdict about it.
    """
    return bool(result.levels) and (not result.judged or bool(result.doubtful) or bool(result.unseen))


def _summary(documents: Sequence[Document], result: Result) -> str:
    findings = f"{len(documents)} finding{'s' * (len(documents) != 1)}" if documents else "nothing found"
    times = ""
    if result.first is not None and result.last is not None:
        times = f" between {_clock(result.first)} and {_clock(result.last)}"
    return f"{findings} in {result.judged:,} judged write{'s' * (result.judged != 1)}{times}"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(
    documents: Sequence[Document], files: Sequence[str], result: Result, reading: Reading, options: Namespace
) -> Iterator[str]:
    for document, path in zip(documents, files, strict=True):
        yield render(document, verbose=options.verbose, width=columns())
        if path:
            yield f"Open: {page_beside(path)}"
            yield f"Look closer: kontend inspect {path}"
        yield ""
    yield _summary(documents, result)
    yield from _notes(result, reading)


def _notes(result: Result, reading: Reading) -> Iterator[str]:
    """Describe the part of the log that could not be judged, and why."""
    less = {level: count for level, count in sorted(result.levels.items()) if level != _FULL}
    for level, count in less.items():
        has = "the request without the response" if level == "Request" else "neither request nor response"
        yield (
            f"not judged: {count:,} write{'s' * (count != 1)} at the level {level or 'unknown'}, which has {has}; only "
            f"hot loops show there. Log these resources at {_FULL}"
        )
    compared = result.levels[_FULL] - result.judged
    if compared > 0:
        yield f"not compared: {compared:,} writes whose earlier version the log does not have, or that changed nothing"
    if result.doubtful:
        yield (
            f"suspected: {result.doubtful:,} write{'s' * (result.doubtful != 1)} without a resourceVersion over a "
            "recent change of another client. Their writers may have seen it through a watch, and a log does not show "
            "what a watch delivers; --lag 50ms reports those that follow so soon"
        )
    if result.unseen:
        yield (
            f"suspected: {result.unseen:,} write{'s' * (result.unseen != 1)} of these within a minute of another "
            f"client's write of the same object. Only {_FULL} shows whether they undid it"
        )
    if result.omitted:
        yield f"left out: {result.omitted:,} findings of further causes; --namespace and --kind narrow the search"
    if result.forgotten:
        yield f"forgotten: {result.forgotten:,} objects that were not met for a while, to keep memory within bounds"
    if reading.late:
        yield (
            f"out of order: {reading.late:,} event{'s' * (reading.late != 1)} came too late to be put in its "
            "place, and what was judged before may be wrong; sort the lines by stageTimestamp"
        )
    for lack in sorted(reading.lacks):
        yield f"not in the log: {lack}"
    if reading.bad:
        yield f"not read: {reading.bad:,} of {reading.lines:,} lines"


def _json(documents: Sequence[Document], files: Sequence[str], result: Result, reading: Reading) -> dict[str, Any]:
    return {
        "findings": [
            {
                "property": document.violation.property,
                "sentence": document.violation.sentence,
                "count": document.violation.count,
                "object": document.bounds["race"]["object"],
                "line": document.bounds["race"]["line"],
                "fix": encode(document.violation.fix),
                "culprits": list(document.violation.culprits),
                "trace": [step.text for step in document.steps],
                "file": file,
            }
            for document, file in zip(documents, files, strict=True)
        ],
        "events": reading.events,
        "judgedWrites": result.judged,
        "writesByLevel": dict(sorted(result.levels.items())),
        "doubtful": result.doubtful,
        "unseen": result.unseen,
        "unreadableLines": reading.bad,
        "notes": list(_notes(result, reading)),
    }
