"""``kontend explore FILE`` and ``kontend replay FILE.zip``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.explore.artefact import run_again, save
from kontend.explore.check import STRATEGIES, searching
from kontend.explore.determinism import Nondeterminism
from kontend.explore.held_again import hold_again, recorded
from kontend.explore.scenario import LEAST, BadScenario, Scenario, not_among
from kontend.explore.source import MADE_UP, scenarios_in
from kontend.explore.verdict import Verdict
from kontend.kube.errors import ApiError
from kontend.runtime.controller import BadController

_FAILURES: Final = Path("failures")
#: How many conversations are held again in other processes.
_CONVERSATIONS: Final = 300
_BOUNDS: Final = {
    "lag": "how many events a cache may be behind",
    "concurrent": "how many instances of each controller",
    "worlds": "stop after so many worlds",
    "moves": "stop after so many moves",
    "seconds": "stop after so many seconds",
    "memory": "stop when so many MiB are in use",
}


def run(argv: Sequence[str]) -> int:
    """Explore a file: 0 when everything holds, 1 when something is violated, 2 for wrong use, 3 when undecided."""
    parser = argparse.ArgumentParser(
        prog="kontend explore", description="Check controllers against every order and lag."
    )
    parser.add_argument("file", help="a file of Python that defines scenarios or controllers")
    parser.add_argument("--scenario", help="the one to explore (default: all)")
    parser.add_argument("--failures", type=Path, default=_FAILURES, metavar="DIR", help="where counterexamples go")
    for name, what in _BOUNDS.items():
        parser.add_argument(
            f"--{name}", type=_at_least(LEAST[name]), metavar="N", help=f"{what} (default: what the scenario says)"
        )
    parser.add_argument("--atomic", action="store_true", help="let nothing happen between the calls of a reconcile")
    parser.add_argument(
        "--one-process", action="store_true", help="do not compare with what the controllers do in other processes"
    )
    parser.add_argument(
        "--search",
        choices=STRATEGIES,
        default="breadth",
        help="every world (breadth, depth), or walks by chance (default: breadth)",
    )
    parser.add_argument(
        "--jobs", type=_at_least(1), default=1, metavar="N", help="share a search by breadth among N processes"
    )
    parser.add_argument("--seed", type=_at_least(0), default=0, metavar="N", help="of the walks (default: 0)")
    parser.add_argument("--walks", type=_at_least(1), default=1_000, metavar="N", help="so many (default: 1,000)")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        if options.jobs > 1 and options.search != "breadth":
            raise BadScenario(f"--jobs: only --search breadth can be shared out, found --search {options.search}")
        scenarios = scenarios_in(options.file)
        if options.scenario and options.scenario not in scenarios:
            raise BadScenario(f"--scenario: {not_among('scenario', options.scenario, scenarios)}")
        scenarios = {
            name: _bounded(scenario, options)
            for name, scenario in scenarios.items()
            if options.scenario in (None, name)
        }
        verdicts: dict[str, Verdict] = {}
        conversations: list[dict[str, Any]] = []
        for name, scenario in scenarios.items():
            search = searching(
                scenario,
                search=options.search,
                seed=options.seed,
                walks=options.walks,
                jobs=options.jobs,
                progress=_progress(),
            )
            verdicts[name] = search.run()
            conversations += recorded(name, search.engine.behaviours, most=_CONVERSATIONS // len(scenarios))
        if not options.one_process:
            hold_again(options.file, conversations)
    except (BadScenario, BadController, Nondeterminism, ApiError) as error:
        sys.stderr.write(f"kontend explore: {error}\n")
        return 2
    source = Path(options.file).resolve()
    files = {
        name: [str(save(options.failures, source, name, each, scenarios[name].bounds)) for each in verdict.violations]
        for name, verdict in verdicts.items()
    }
    if options.output_format == "json":
        document = {name: _document(verdict, files[name]) for name, verdict in verdicts.items()}
        sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        for name, verdict in verdicts.items():
            sys.stdout.write(f"{name}:\n{verdict}\n")
            if verdict.violations and scenarios[name].name == MADE_UP:
                sys.stdout.write(
                    f"The objects were made up, with nothing in them; define a Scenario in {options.file}\n"
                )
            for file, violation in zip(files[name], verdict.violations, strict=True):
                sys.stdout.write(f"Replay: kontend replay {file}\n")
                sys.stdout.write(f'Or in a test: @reproduce("{violation.replay}")\n' if violation.replay else "")
    if any(verdict.violations for verdict in verdicts.values()):
        return 1
    return 0 if all(verdict.closed for verdict in verdicts.values()) else 3


def _at_least(least: int) -> Callable[[str], int]:
    """The type of an option; argparse puts the option's name before the message."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, found {text}")
        return value

    return number


def _bounded(scenario: Scenario, options: argparse.Namespace) -> Scenario:
    """The scenario with the bounds of the command line."""
    said: dict[str, Any] = {name: value for name in _BOUNDS if (value := getattr(options, name)) is not None}
    if options.atomic:
        said["atomic"] = True
    return replace(scenario, bounds=replace(scenario.bounds, **said)) if said else scenario


def _progress() -> Callable[[int, int], None] | None:
    """Shows how far the search is, to whoever sits at a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(worlds: int, moves: int) -> None:
        sys.stderr.write(f"\r{worlds:,} worlds, {moves:,} moves\033[K\r")
        sys.stderr.flush()

    return show


def replay(argv: Sequence[str]) -> int:
    """Replay a counterexample: 1 when it happens again, as it did, 2 when it does not."""
    parser = argparse.ArgumentParser(prog="kontend replay", description="Run a counterexample again.")
    parser.add_argument("file", type=Path)
    try:
        options = parser.parse_args(list(argv))
        document, story = run_again(options.file)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except (BadScenario, BadController, Nondeterminism, ApiError) as error:
        sys.stderr.write(f"kontend replay: {error}\n")
        return 2
    sys.stdout.write("".join(f"  {number} {text}\n" for number, text in enumerate(story, 1)))
    if story != document["story"]:
        sys.stderr.write("kontend replay: the story is another one now; the controllers have changed\n")
        return 2
    sys.stdout.write(f"{document['property']}: {document['sentence']}\n")
    return 1


def _document(verdict: Verdict, files: list[str]) -> dict[str, Any]:
    return {
        "violations": [
            {
                "property": each.property,
                "sentence": each.sentence,
                "moves": list(each.moves),
                "replay": file,
                "reproduce": each.replay,
            }
            for each, file in zip(verdict.violations, files, strict=True)
        ],
        "worlds": verdict.worlds,
        "moves": verdict.moves,
        "endStates": len(verdict.end_states),
        "closed": verdict.closed,
        "stopped": verdict.stopped,
        "cut": verdict.cut,
        "undisturbedEndStates": verdict.undisturbed_ends,
        "untested": verdict.untested,
    }
