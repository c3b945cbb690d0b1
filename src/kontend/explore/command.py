"""``kontend explore FILE`` and ``kontend replay FILE.zip``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.explore.artefact import run_again, save
from kontend.explore.behaviour import Nondeterminism
from kontend.explore.scenario import BadScenario
from kontend.explore.search import check
from kontend.explore.source import scenarios_in
from kontend.explore.verdict import Verdict
from kontend.kube.errors import ApiError
from kontend.runtime.controller import BadController

_FAILURES: Final = Path("failures")


def run(argv: Sequence[str]) -> int:
    """Explore a file: 0 when everything holds, 1 when something is violated, 2 for wrong use, 3 when undecided."""
    parser = argparse.ArgumentParser(
        prog="kontend explore", description="Check controllers against every order and lag."
    )
    parser.add_argument("file", help="a file of Python that defines scenarios or controllers")
    parser.add_argument("--scenario", help="the one to explore (default: all)")
    parser.add_argument("--failures", type=Path, default=_FAILURES, metavar="DIR", help="where counterexamples go")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        scenarios = scenarios_in(options.file)
        if options.scenario and options.scenario not in scenarios:
            raise BadScenario(f"no scenario is called {options.scenario}; there are: {', '.join(scenarios)}")
        verdicts = {name: check(scenario) for name, scenario in scenarios.items() if options.scenario in (None, name)}
    except (BadScenario, BadController, Nondeterminism, ApiError) as error:
        sys.stderr.write(f"kontend explore: {error}\n")
        return 2
    files = {
        name: [str(save(options.failures, Path(options.file).resolve(), name, each)) for each in verdict.violations]
        for name, verdict in verdicts.items()
    }
    if options.output_format == "json":
        document = {name: _document(verdict, files[name]) for name, verdict in verdicts.items()}
        sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        for name, verdict in verdicts.items():
            sys.stdout.write(f"{name}:\n{verdict}\n")
            sys.stdout.write("".join(f"Replay: kontend replay {file}\n" for file in files[name]))
    if any(verdict.violations for verdict in verdicts.values()):
        return 1
    return 0 if all(verdict.closed for verdict in verdicts.values()) else 3


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
            {"property": each.property, "sentence": each.sentence, "moves": list(each.moves), "replay": file}
            for each, file in zip(verdict.violations, files, strict=True)
        ],
        "worlds": verdict.worlds,
        "moves": verdict.moves,
        "endStates": len(verdict.end_states),
        "closed": verdict.closed,
        "untested": verdict.untested,
    }
