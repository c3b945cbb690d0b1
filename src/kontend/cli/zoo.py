"""``kontend zoo``: explores a collection of real bugs and their fixed twins."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, at_least, usage_errors, write
from kontend.cli.scale import add_scale_options, check_scale_options
from kontend.executors.names import BadExecutor
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.determinism import Nondeterminism
from kontend.kube.errors import ApiError
from kontend.runtime.controller import BadController
from kontend.zoo.entry import ARCHETYPES, BadEntry, Entry, directory, entries
from kontend.zoo.report import document, guarded_table, page, table
from kontend.zoo.runs import NO_FAULTS, EntryOutcome, RunOptions, run_all, run_entry

_WIDTH = 30


def run(argv: Sequence[str]) -> int:
    """Run ``kontend zoo``."""
    options = parser().parse_args(list(argv))
    check_scale_options(options)
    folder: Path | None = options.directory or directory()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--directory: {folder}: no such directory")
    if folder is None:
        raise UsageError("there is no zoo: run it in a checkout of kontend, or name a folder with --directory")
    with usage_errors(BadEntry, BadExecutor, BadScenario, BadController, Nondeterminism, ApiError):
        known = entries(folder)
        chosen = _chosen(known, options)
        how = RunOptions(guarded=options.guarded, seconds=options.seconds)
        start = time.perf_counter()
        if len(options.names) == 1 and options.output_format == "text":
            return _explain(chosen[0], how)
        if options.guarded:
            chosen = [entry for entry in chosen if not entry.is_control]
        outcomes = _run(chosen, how, options)
    seconds = time.perf_counter() - start
    if options.output_format == "json":
        results = document(outcomes, seconds, guarded=options.guarded)
        write(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        write((guarded_table if options.guarded else table)(outcomes, seconds))
    return _exit_code(outcomes, guarded=options.guarded)


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend zoo",
        description="Explore a collection of real bugs and their fixed twins.",
        examples={
            "all bugs and their fixed twins": "kontend zoo --jobs 4",
            "one archetype": "kontend zoo --archetype A4",
            "the bugs with all guards on": "kontend zoo --guarded",
        },
        topic="zoo",
        epilog="Exit codes: 0 all bugs found and all twins hold (with --guarded: all buggy controllers hold), "
        "1 otherwise, 2 usage error, 3 undecided.",
    )
    add = made.add_argument
    add("names", metavar="NAME", nargs="*", help="explain one bug in full, or run only these (default: all)")
    add("--archetype", choices=tuple(ARCHETYPES), metavar="A", help="only bugs of this archetype, such as A4")
    add("--guarded", action="store_true", help="run the buggy controllers with all guards of the runtime on")
    add("--directory", type=Path, metavar="DIR", help="the folder of the entries (default: those of kontend)")
    add_scale_options(made)
    add("--seconds", type=at_least(1), default=60, metavar="N", help="time limit for one scenario (default: 60)")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    return made


def _chosen(known: dict[str, Entry], options: Namespace) -> list[Entry]:
    for name in options.names:
        if name not in known:
            raise UsageError(not_among("bug", name, known))
    return [
        entry
        for name, entry in known.items()
        if (not options.names or name in options.names) and options.archetype in (None, entry.archetype)
    ]


def _explain(entry: Entry, how: RunOptions) -> int:
    outcome = run_entry(entry, replace(how, guarded=False))
    guarded = run_entry(entry, replace(how, guarded=True))
    write(page(entry, outcome, guarded))
    return _exit_code([guarded if how.guarded else outcome], guarded=how.guarded)


def _run(chosen: list[Entry], how: RunOptions, options: Namespace) -> list[EntryOutcome]:
    """Run entries with a progress bar, and return the outcomes in the order of the entries."""
    outcomes: dict[str, EntryOutcome] = {}
    visible = sys.stderr.isatty()
    for outcome in run_all(chosen, how, jobs=options.jobs, executor=options.executor):
        outcomes[outcome.entry.name] = outcome
        if visible:
            done = len(outcomes) * _WIDTH // len(chosen)
            bar = "#" * done + "." * (_WIDTH - done)
            sys.stderr.write(f"\r[{bar}] {len(outcomes)}/{len(chosen)} {outcome.entry.name}\033[K")
            sys.stderr.flush()
    if visible:
        sys.stderr.write("\r\033[K")
    return [outcomes[entry.name] for entry in chosen]


def _exit_code(outcomes: Sequence[EntryOutcome], *, guarded: bool) -> int:
    if guarded:
        runs = [run for outcome in outcomes for run in outcome.buggy if not run.scenario.endswith(NO_FAULTS)]
        if any(run.violated for run in runs):
            return ExitCode.FINDINGS
        return ExitCode.OK if all(run.exhausted for run in runs) else ExitCode.UNDECIDED
    missed = [run for outcome in outcomes for run in outcome.buggy if not run.violated]
    if any(run.exhausted for run in missed) or any(outcome.false_alarms for outcome in outcomes):
        return ExitCode.FINDINGS
    return ExitCode.UNDECIDED if missed or any(outcome.undecided for outcome in outcomes) else ExitCode.OK
