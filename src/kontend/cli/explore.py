"""``kontend explore FILE`` and ``kontend replay FILE.zip``."""

from __future__ import annotations

import hashlib
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, at_least, usage_errors, write
from kontend.explore.exploring import STRATEGIES, SearchOptions, explore
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.recheck import recheck, recorded_runs
from kontend.explore.replay.files import replay_file
from kontend.explore.scenario import LEAST, Bounds, Scenario
from kontend.explore.scenario_files import GENERATED, scenarios_in
from kontend.explore.trace.artefact import open_trace, save
from kontend.explore.verdict import Verdict, Violation
from kontend.kube.errors import ApiError
from kontend.runtime.controller import BadController

_FAILURES: Final = Path("failures")
#: How many runs are made again in other processes.
_RECHECKED: Final = 300
_BOUNDS: Final = {
    "lag": "the number of events that a cache may be behind",
    "concurrent": "the number of instances of each controller",
    "states": "stop after this many states",
    "steps": "stop after this many steps",
    "seconds": "stop after this many seconds",
    "memory": "stop when this many MiB are in use",
}
_ERRORS: Final = (BadScenario, BadController, Nondeterminism, ApiError)


def run(argv: Sequence[str]) -> int:
    """Run ``kontend explore``."""
    options = _parser().parse_args(list(argv))
    if options.jobs > 1 and options.search != "breadth":
        raise UsageError(f"--jobs: only --search breadth runs in several processes, found --search {options.search}")
    with usage_errors(*_ERRORS):
        scenarios = _scenarios(options)
        verdicts: dict[str, Verdict] = {}
        runs: list[dict[str, Any]] = []
        search = SearchOptions(
            options.search, options.seed, options.walks, until_first=False, jobs=options.jobs, progress=_progress()
        )
        for name, scenario in scenarios.items():
            share = _RECHECKED // len(scenarios)

            def record(model: Model, name: str = name, share: int = share) -> None:
                runs.extend(recorded_runs(name, model.programs, most=share))

            verdicts[name] = explore(scenario, search, inspect=record)
        if not options.one_process:
            recheck(options.file, runs)
    source = Path(options.file).resolve()
    files = {
        name: [_saved(options.failures, source, name, each, scenarios[name].bounds) for each in verdict.violations]
        for name, verdict in verdicts.items()
    }
    if options.output_format == "json":
        document = {name: _document(verdict, files[name]) for name, verdict in verdicts.items()}
        write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        for name, verdict in verdicts.items():
            write(_text(name, verdict, files[name], generated=scenarios[name].name == GENERATED, file=options.file))
    if any(verdict.violations for verdict in verdicts.values()):
        return ExitCode.FINDINGS
    return ExitCode.OK if all(verdict.ok for verdict in verdicts.values()) else ExitCode.UNDECIDED


def _saved(directory: Path, source: Path, scenario: str, violation: Violation, bounds: Bounds) -> str:
    """Write a counterexample; returns its path, or nothing if it cannot be written. The verdict is printed anyway."""
    try:
        return str(save(directory, source, scenario, violation, bounds))
    except OSError as error:
        sys.stderr.write(f"kontend explore: the counterexample is not saved: {error}\n")
        return ""


def _parser() -> Parser:
    parser = Parser(
        prog="kontend explore",
        description="Check controllers against every order of their calls and every lag of their caches.",
        epilog="Exit codes: 0 everything holds, 1 something is violated, 2 usage error, 3 undecided.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a Python file that defines scenarios or controllers")
    add("--scenario", metavar="NAME", help="explore only this scenario (default: all)")
    add("--failures", type=Path, default=_FAILURES, metavar="DIR", help="directory for counterexamples")
    for name, what in _BOUNDS.items():
        add(f"--{name}", type=at_least(LEAST[name]), metavar="N", help=f"{what} (default: as in the scenario)")
    add("--atomic", action="store_true", help="let nothing happen between the calls of a reconcile")
    add("--one-process", action="store_true", help="do not compare runs with those in other processes")
    add(
        "--search",
        choices=STRATEGIES,
        default="breadth",
        help="search strategy: every state (breadth, depth), or random walks (random, pct) (default: breadth)",
    )
    add("--jobs", type=at_least(1), default=1, metavar="N", help="number of processes for --search breadth")
    add("--seed", type=at_least(0), default=0, metavar="N", help="random seed (default: 0)")
    add("--walks", type=at_least(1), default=1_000, metavar="N", help="number of walks (default: 1,000)")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    return parser


def _scenarios(options: Namespace) -> dict[str, Scenario]:
    """The scenarios to explore, with the bounds of the command line."""
    scenarios = scenarios_in(options.file)
    if options.scenario and options.scenario not in scenarios:
        raise UsageError(f"--scenario: {not_among('scenario', options.scenario, scenarios)}")
    given: dict[str, Any] = {name: value for name in _BOUNDS if (value := getattr(options, name)) is not None}
    if options.atomic:
        given["atomic"] = True
    return {
        name: replace(scenario, bounds=replace(scenario.bounds, **given)) if given else scenario
        for name, scenario in scenarios.items()
        if options.scenario in (None, name)
    }


def _text(name: str, verdict: Verdict, files: list[str], *, generated: bool, file: str) -> str:
    lines = [f"{name}:", str(verdict)]
    if verdict.violations and generated:
        lines.append(f"The objects were generated, with empty specs; define a Scenario in {file}")
    for path, violation in zip(files, verdict.violations, strict=True):
        if path:
            lines.append(f"Replay: kontend replay {path}")
        if violation.token:
            lines.append(f'Or in a test: @reproduce("{violation.token}")')
    return "\n".join(lines) + "\n"


def _progress() -> Callable[[int, int], None] | None:
    """Shows the progress of a search on a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(states: int, steps: int) -> None:
        sys.stderr.write(f"\r{states:,} states, {steps:,} steps\033[K\r")
        sys.stderr.flush()

    return show


def replay(argv: Sequence[str]) -> int:
    """Run ``kontend replay``: 1 when the counterexample happens again, 2 when it does not."""
    parser = Parser(prog="kontend replay", description="Replay a counterexample. This runs the file that it names.")
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that kontend explore has written")
    parser.add_argument("--yes", action="store_true", help="run a Python file outside the current directory")
    options = parser.parse_args(list(argv))
    with usage_errors(*_ERRORS):
        document = open_trace(options.file)
        _confirm(Path(document["source"]), yes=options.yes)
        trace = replay_file(options.file, document)
    write("".join(f"  {number} {text}\n" for number, text in enumerate(trace, 1)))
    if trace != document["trace"]:
        raise UsageError("the trace differs from the recorded one: the scenario or its controllers have changed")
    write(f"{document['property']}: {document['sentence']}\n")
    return ExitCode.FINDINGS


def _confirm(source: Path, *, yes: bool) -> None:
    """Show which Python file a counterexample runs, and ask before one from elsewhere is run."""
    try:
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}; the counterexample names this file") from error
    sys.stderr.write(f"kontend replay: runs {source} (sha256 {digest[:16]})\n")
    if yes or source.resolve().is_relative_to(Path.cwd().resolve()):
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{source} is outside the current directory; read it, then run it with --yes")
    sys.stderr.write("It is outside the current directory. Run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not replayed")


def _document(verdict: Verdict, files: list[str]) -> dict[str, Any]:
    return {
        "violations": [
            {
                "property": violation.property,
                "sentence": violation.sentence,
                "trace": list(violation.trace),
                "perturbations": violation.perturbations,
                "replay": file,
                "reproduce": violation.token,
            }
            for violation, file in zip(verdict.violations, files, strict=True)
        ],
        "ok": verdict.ok,
        "states": verdict.states,
        "steps": verdict.steps,
        "finalStates": len(verdict.final_states),
        "baselineFinalStates": verdict.baseline_states,
        "exhausted": verdict.exhausted,
        "stopped": verdict.stopped,
        "notExpanded": verdict.cut,
        "bounds": verdict.bounds,
        "guards": None if verdict.guards is None else list(verdict.guards),
        "notTried": list(verdict.not_tried),
        "untested": verdict.untested,
        "notes": verdict.notes,
    }
