"""``kontend campaign DIR|FILE ...``: run many explorations side by side, and go on where they stopped.

$ kontend campaign operators/ nightly.yaml --bounds lag=1 --bounds lag=2,crashes=2 --jobs 8 --junit report.xml
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

from kontend.campaign.entry import (
    Entry,
    ExploreEntry,
    Matrix,
    checked_bounds,
    checked_searches,
    is_campaign_file,
    read_entries,
    read_plans,
)
from kontend.campaign.journal import BadJournal, Journal
from kontend.campaign.listing import list_units
from kontend.campaign.report import as_json, as_junit, line_of, summary
from kontend.campaign.running import Result, Unobserved, run_units
from kontend.campaign.table import Table
from kontend.campaign.unit import UnitOutcome
from kontend.cli.command import ExitCode, Parser, UsageError, at_least, usage_errors, write
from kontend.executors.engines import OnEngine, executor_of
from kontend.executors.names import BadExecutor, executor_problem
from kontend.executors.processes import Processes, default_method
from kontend.executors.work import Executor
from kontend.explore.exploring import STRATEGIES
from kontend.explore.problems import BadScenario
from kontend.explore.scenario_documents import ENDINGS
from kontend.runtime.user_sources import UserCode
from kontend.safe_files import write_whole

_DIRECTORY: Final = Path("kontend-campaign")


def run(argv: Sequence[str]) -> int:
    """Run ``kontend campaign``."""
    options = parser().parse_args(list(argv))
    with usage_errors(BadScenario, BadJournal, BadExecutor):
        entries = _entries(options)
        executor = _executor(options)
        with _terminated_as_interrupted(), closing(Journal(options.directory)) as journal:
            if options.fresh:
                journal.forget()
            if journal.damaged:
                _note(f"{journal.path}: {journal.damaged} of its records are damaged; their units run again")
            return _run(entries, executor, journal, options)


def _run(entries: list[Entry], executor: Executor, journal: Journal, options: Namespace) -> int:
    processes = Processes(options.jobs or os.cpu_count() or 1, default_method(), timeout=options.timeout)
    is_remote = isinstance(executor, OnEngine)
    units = list_units(entries, processes, Unobserved(), recheck=not options.one_process, with_sources=is_remote)
    table = Table(sys.stderr)
    results: list[Result] = []
    shows = "-" not in (options.json, options.junit)
    code: int | None = None
    try:
        with closing(run_units(units, executor, journal, table, is_remote=is_remote)) as running:
            for result in running:
                results.append(result)
                if shows:
                    table.clear()
                    write(line_of(result))
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    finally:
        table.clear()
        _write_reports(results, options)
    if code is not None:
        left = len(units) - len(results)
        _note(f"interrupted; {left} of {len(units)} runs are left: the same command goes on")
        return code
    known = sum(result.is_known for result in results)
    if shows:
        write(summary(result.outcome for result in results) + "\n")
    if known:
        _note(f"{known} of {len(results)} results are from {journal.path}; --fresh runs everything again")
    return exit_code(result.outcome for result in results)


def exit_code(outcomes: Iterable[UnitOutcome]) -> int:
    """Return the exit code for outcomes. An error is never hidden by a violation, nor this by a limit.

    >>> exit_code([UnitOutcome("holds", ""), UnitOutcome("undecided", "")])
    <ExitCode.UNDECIDED: 3>
    """
    statuses = {outcome.status for outcome in outcomes}
    if statuses & {"refused", "crashed"}:
        return ExitCode.ERROR
    if "violated" in statuses:
        return ExitCode.FINDINGS
    return ExitCode.UNDECIDED if "undecided" in statuses else ExitCode.OK


def _write_reports(results: list[Result], options: Namespace) -> None:
    for name, made in (("json", as_json), ("junit", as_junit)):
        path = getattr(options, name)
        if path == "-":
            write(made(results).decode())
        elif path is not None:
            try:
                write_whole(Path(path), made(results))
            except OSError as error:
                raise UsageError(
                    f"--{name}: {path}: {error.strerror}; the outcomes are kept in {options.directory}"
                ) from error


def _entries(options: Namespace) -> list[Entry]:
    matrix = Matrix(
        bounds=checked_bounds([_bounds(text) for text in options.bounds], "--bounds"),
        searches=checked_searches(options.search or ("breadth",), "--search"),
        seeds=tuple(range(options.seeds)),
        walks=options.walks,
        deepen=options.deepen,
        plans=read_plans(options.plan),
    )
    given: dict[str, Any] = {name: tuple(map(str, getattr(options, name))) for name in ("crds", "objects", "actions")}
    entries: list[Entry] = []
    plain = False
    for text in options.targets:
        path = Path(text)
        if not path.exists() and not _is_module(text):
            raise UsageError(f"{text}: no such file or directory")
        if is_campaign_file(path):
            entries += read_entries(path)
        else:
            plain = True
            entries.append(ExploreEntry((text,), matrix, tuple(options.scenario), **given))
    if not plain and (matrix != Matrix() or options.scenario or any(given.values())):
        raise UsageError("the campaign files say what is tried; --bounds, --search and the like are for other targets")
    return entries


def _is_module(text: str) -> bool:
    module = text.partition(":")[0]
    return all(part.isidentifier() for part in module.split(".")) and not text.endswith((".py", *ENDINGS))


def _bounds(text: str) -> dict[str, Any]:
    """Bounds from ``lag=2,atomic=true``."""
    bounds: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if value in ("true", "false"):
            bounds[name] = value == "true"
        elif equals and value.isascii() and value.isdecimal() and len(value) < 19:
            bounds[name] = int(value)
        else:
            raise UsageError(f"--bounds {text}: expected NAME=NUMBER, such as lag=2,crashes=1, found {part!r}")
    return bounds


def _executor(options: Namespace) -> Executor:
    if problem := executor_problem(options.executor):
        raise UsageError(f"--executor {options.executor}: {problem}")
    executor = executor_of(options.executor, options.jobs or os.cpu_count() or 1, UserCode(), timeout=options.timeout)
    if isinstance(executor, OnEngine) and options.timeout is not None:
        raise UsageError("--timeout: only processes of this machine are ended; leave it out")
    return executor


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends a campaign as Ctrl-C does: in an orderly way, so that no process is left behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _note(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"kontend campaign: {text}\n")
        sys.stderr.flush()


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend campaign",
        description="Run many explorations, random walks, plans and live commands side by side. A campaign that was "
        "interrupted or killed goes on with the same command.",
        examples={
            "every scenario of a directory, with a report for CI": "kontend campaign scenarios/ --junit report.xml",
            "two bounds, each by itself": "kontend campaign widgets.py --bounds lag=1 --bounds lag=2,crashes=2",
            "walks with eight seeds, four at a time": "kontend campaign widgets.py --search random --seeds 8 --jobs 4",
        },
        epilog="Exit codes: 0 everything holds, 1 something is violated, 2 usage error or a run that failed, "
        "3 undecided.",
        topic="campaign",
    )
    _add_targets(made)
    _add_searches(made)
    _add_running(made)
    add = made.add_argument_group("output").add_argument
    add("--json", metavar="FILE", help="write all outcomes as JSON; - is the standard output")
    add("--junit", metavar="FILE", help="write all outcomes as JUnit XML; - is the standard output")
    return made


def _add_targets(made: Parser) -> None:
    add = made.add_argument_group("what is explored").add_argument
    add(
        "targets",
        metavar="TARGET",
        nargs="+",
        help="a campaign file (YAML with a list campaign), or what kontend explore takes: a Python file, a YAML file "
        "of scenarios, a directory of such files, a module",
    )
    add("--scenario", action="append", default=[], metavar="NAME", help="run only this scenario (repeatable)")
    for name, what in (
        ("crds", "CustomResourceDefinitions, beside those of the scenario"),
        ("objects", "objects to start with, instead of those of the scenario"),
        ("actions", "actions of the user, instead of those of the scenario"),
    ):
        text = f"a YAML file or directory of {what} (repeatable)"
        add(f"--{name}", action="append", type=Path, default=[], metavar="PATH", help=text)


def _add_searches(made: Parser) -> None:
    add = made.add_argument_group("bounds and search").add_argument
    add(
        "--bounds",
        action="append",
        default=[],
        metavar="NAME=N,…",
        help="explore within these bounds, such as lag=2,crashes=1,seconds=60; several are tried one by one "
        "(default: those of each scenario)",
    )
    add(
        "--search",
        action="append",
        default=[],
        choices=STRATEGIES,
        help="search strategy; several are tried one by one (default: breadth)",
    )
    add("--seeds", type=at_least(1), default=1, metavar="N", help="repeat walks with the seeds 0 to N - 1 (default: 1)")
    add("--walks", type=at_least(1), default=1_000, metavar="N", help="number of walks of a seed (default: 1,000)")
    add(
        "--deepen",
        type=at_least(0),
        default=1_000,
        metavar="N",
        help="where everything holds with one fault in a run, search N states with two (default: 1,000)",
    )
    add("--plan", action="append", type=Path, default=[], metavar="FILE", help="try only this plan (repeatable)")
    add("--one-process", action="store_true", help="do not compare runs of code with those in other processes")


def _add_running(made: Parser) -> None:
    add = made.add_argument_group("where it runs").add_argument
    add("--jobs", type=at_least(1), metavar="N", help="number of runs at a time (default: one for each processor)")
    add(
        "--executor",
        default="",
        metavar="NAME",
        help="how processes are started: fork, spawn, ray[://ADDRESS] or dask[://ADDRESS] (default: fork, where the "
        "system can)",
    )
    add("--timeout", type=at_least(1), metavar="S", help="end a run after S seconds, as an error (default: no limit)")
    add(
        "--directory",
        type=Path,
        default=_DIRECTORY,
        metavar="DIR",
        help=f"journal, checkpoints and counterexamples; the campaign goes on from it (default: {_DIRECTORY})",
    )
    add("--fresh", action="store_true", help="run everything again, whatever the journal has")
