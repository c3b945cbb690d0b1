"""``kontend fix TARGET``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from kontend.cli.bounds import add_bounds, chosen_bounds
from kontend.cli.command import ExitCode, Parser, UsageError, at_least, usage_errors, write
from kontend.cli.status_line import StatusLine
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.sources.inputs import read_inputs
from kontend.repair.applying import NotApplied, write_fix
from kontend.repair.candidates import Candidate
from kontend.repair.repairing import Options, Repairs, repaired
from kontend.repair.report import document_of, text_of
from kontend.runtime.user_file import BadFile, file_of_module

#: Bounds whose names mean something else here.
_OWN: Final = ("seconds", "memory")


def run(argv: Sequence[str]) -> int:
    """Run ``kontend fix``."""
    options = parser().parse_args(list(argv))
    line = StatusLine()
    with usage_errors(BadScenario, BadFile):
        file, named = _target(options)
        inputs = read_inputs(options.crds, options.objects, options.actions, options.ignore, options.properties)
        how = Options(
            float(options.seconds),
            max(options.fixes, options.choose or 0),
            scenario=options.scenario or named,
            bounds=chosen_bounds(options, without=_OWN),
            progress=line.show,
        )
        repairs = repaired(file, inputs, how)
    line.clear()
    names = [explored.name for explored in repairs.explored]
    if how.scenario and how.scenario not in names:
        raise UsageError(f"--scenario: {not_among('scenario', how.scenario, names)}")
    if options.output_format == "json":
        write(orjson.dumps(document_of(repairs), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        write("\n".join(text_of(repairs, verbose=options.verbose)) + "\n")
    if repairs.interrupted:
        return ExitCode.INTERRUPTED
    if (options.apply or options.choose) and repairs.repairs:
        return _apply(repairs, options)
    return _exit_code(repairs)


def _exit_code(repairs: Repairs) -> int:
    if any(not repair.verified for repair in repairs.repairs):
        return ExitCode.UNDECIDED
    if repairs.repairs:
        return ExitCode.FINDINGS
    return ExitCode.OK if all(explored.exhausted for explored in repairs.explored) else ExitCode.UNDECIDED


def _apply(repairs: Repairs, options: Namespace) -> int:
    """Write one fix: each was verified by itself, not together with those of other violations."""
    fixable = [repair for repair in repairs.repairs if repair.verified]
    if not fixable:
        return ExitCode.UNDECIDED
    repair, number = fixable[0], options.choose or 1
    if number > len(repair.verified):
        raise UsageError(f"--choose {number}: {len(repair.verified)} found for {repair.violated.property!r}")
    candidate: Candidate = repair.verified[number - 1].candidate
    try:
        written = write_fix(candidate, repairs.root, force=options.force, ask=_asked)
    except NotApplied as error:
        raise UsageError(str(error)) from error
    sys.stderr.write(f"applied: {written}\n")
    rest = len(repairs.repairs) - 1
    if rest:
        sys.stderr.write(f"{rest} more violated: run the command again\n")
    return ExitCode.FINDINGS if rest else ExitCode.OK


def _asked(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _target(options: Namespace) -> tuple[Path, str]:
    """Return the file of a target, and the scenario or controller that it names.

    Nothing of the user's is imported here.
    """
    if options.go is not None:
        package = Path(options.go)
        if options.target is not None:
            raise UsageError("name a TARGET or a Go package with --go, not both")
        if not package.is_dir():
            raise UsageError(f"--go {package}: expected the directory of a Go package, such as ./internal/controller")
        return package.resolve(), ""
    if options.target is None:
        raise UsageError("name a TARGET, or a Go package with --go")
    text: str = options.target
    path = Path(text)
    if path.is_dir():
        raise UsageError(
            f"{text} is a directory: name one file, so that its scenarios are explored with each fix, or a Go package "
            "with --go"
        )
    if path.exists():
        return path.resolve(), ""
    given, _, name = text.rpartition(":")
    if given and Path(given).is_file():
        return Path(given).resolve(), name
    module, _, name = text.partition(":")
    if text.endswith((".py", ".yaml", ".yml")) or not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{text}: no such file")
    return file_of_module(module), name


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend fix",
        description="Find changes of the code that repair what kontend explore finds; each is explored again.",
        examples={
            "what would repair it, as a diff": "kontend fix widgets.py",
            "write the first fix": "kontend fix widgets.py --apply",
            "a Go package": "kontend fix --go ./internal/controller --seconds 600",
            "more fixes of one scenario": "kontend fix widgets.py --scenario busy --fixes 4",
        },
        topic="fix",
        epilog="Exit codes: 0 nothing to fix, or all applied, 1 every violation has a verified fix, 2 usage error, "
        "3 a violation without one.",
    )
    add = made.add_argument
    text = "a file with scenarios or controllers, a module, or pkg.mod:name"
    add("target", metavar="TARGET", nargs="?", help=text)
    add("--go", metavar="PACKAGE", help="a directory with a Go package whose tests call kontend.Explore")
    add("--scenario", metavar="NAME", help="repair only this scenario; the others are still explored (default: all)")
    for name in ("crds", "objects", "actions", "properties"):
        add(f"--{name}", action="append", type=Path, default=[], metavar="PATH", help="as for kontend explore")
    add("--ignore", action="append", default=[], metavar="KIND.PATH", help="as for kontend explore")
    add("--seconds", type=at_least(1), default=60, metavar="N", help="stop after N seconds per violation (default: 60)")
    add("--fixes", type=at_least(1), default=2, metavar="N", help="look for N fixes of each violation (default: 2)")
    add("--apply", action="store_true", help="write the first fix into the file")
    add("--choose", type=at_least(1), metavar="N", help="write fix N instead of the first")
    add("--force", action="store_true", help="write over uncommitted changes without asking")
    add("--verbose", "-v", action="store_true", help="list all candidates that failed")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    add_bounds(made, without=_OWN)
    return made
