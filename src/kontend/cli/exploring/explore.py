"""``kontend explore TARGET``."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.cli.bounds import add_bounds, chosen_bounds
from kontend.cli.command import ExitCode, Parser, UsageError, at_least, columns, usage_errors, write, write_page
from kontend.cli.exploring.by_hand import explore_by_hand
from kontend.cli.exploring.expect import answer, as_json, exit_code, expected_property
from kontend.cli.exploring.interrupts import Interrupts
from kontend.cli.exploring.progress import ProgressLine
from kontend.cli.exploring.targets import Target, find_targets, shown_inputs, with_bounds
from kontend.cli.exploring.targets import add_options as add_target_options
from kontend.cli.exploring.timed import add_options as add_timed_options
from kontend.cli.exploring.timed import check_options as check_timed_options
from kontend.cli.exploring.timed import run_timed
from kontend.cli.scale import add_scale_options, check_scale_options
from kontend.executors.names import BadExecutor
from kontend.explore.explain.lines import relative_name
from kontend.explore.explain.results import explained_documents, scenario_result
from kontend.explore.exploring import STRATEGIES, SearchOptions, explore
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.planned.plan import Plan, load_plan, plan_of
from kontend.explore.planned.running import explore_plan
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.recheck import recheck, recorded_runs
from kontend.explore.shards.spec import Source
from kontend.explore.sources.generated import GENERATED, basis_of
from kontend.explore.verdict import Verdict
from kontend.kube.errors import ApiError
from kontend.repair.showing import SHORT, show_fixes
from kontend.report.archive import slug
from kontend.report.decoding import encode
from kontend.report.document import Document
from kontend.report.grouping import grouped
from kontend.report.page.page import page
from kontend.report.saving import page_beside, save
from kontend.runtime.controller import BadController

_FAILURES: Final = Path("failures")
#: States that are searched with two faults in a run.
_DEEPEN: Final = 1_000
#: Runs that are made again in other processes.
_RECHECKED: Final = 300
_ERRORS: Final = (BadScenario, BadController, BadExecutor, Nondeterminism, ApiError)


def run(argv: Sequence[str]) -> int:
    """Run ``kontend explore``."""
    options = parser().parse_args(list(argv))
    check_scale_options(options)
    check_timed_options(options)
    if options.fix and (options.plan is not None or options.timed or options.interactive):
        raise UsageError("--fix goes with a search: leave out --plan, --timed and --interactive")
    with usage_errors(*_ERRORS):
        targets = _bounded_targets(options)
        scenarios = {title: target.scenario for title, target in targets.items()}
        if options.timed:
            return run_timed(scenarios, options, title=relative_name(_title(targets)))
        if options.interactive:
            origins = {title: target.origin for title, target in targets.items()}
            return explore_by_hand(_title(targets), scenarios, origins=origins, port=options.port)
        expected = expected_property(options.expect, scenarios) if options.expect else ""
        with Interrupts() as interrupts:
            verdicts = _explored(targets, options, interrupts)
    if options.fix and not interrupts.came:
        _show_fixes(targets, verdicts, options)
    documents = {name: explained_documents(verdict) for name, verdict in verdicts.items()}
    files = {name: [_saved(options.failures, document) for document in documents[name]] for name in verdicts}
    if options.html is not None:
        results = [scenario_result(name, scenarios[name], verdicts[name], documents[name]) for name in verdicts]
        write_page(options.html, page(results, title=relative_name(_title(targets))))
    if options.output_format == "json":
        document = {name: _document(verdict, files[name]) for name, verdict in verdicts.items()}
        for name in verdicts if expected else ():
            document[name]["expect"] = as_json(verdicts[name], expected)
        write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
    elif expected:
        for name, verdict in verdicts.items():
            write(answer(name, verdict, expected, verbose=options.verbose))
    else:
        for name, verdict in verdicts.items():
            planned = options.plan is not None or targets[name].plan is not None
            text = _text(name, verdict, files[name], verbose=options.verbose, planned=planned)
            title, _, rest = text.partition("\n")
            write(f"{title}\n{shown_inputs(targets[name])}{rest}")
    left = [name for name in targets if name not in verdicts]
    if interrupts.came:
        sys.stderr.write(f"kontend explore: interrupted; not explored: {', '.join(left) or 'nothing else'}\n")
    elif left and options.output_format == "text" and not expected:
        write(f"not explored, because the user who changes an object finds a violation: {', '.join(left)}\n")
    if expected:
        return exit_code(verdicts, expected)
    if any(verdict.violations for verdict in verdicts.values()):
        return ExitCode.FINDINGS
    if options.strict and any(verdict.warnings or verdict.untested for verdict in verdicts.values()):
        return ExitCode.UNDECIDED
    holds = all(verdict.ok for verdict in verdicts.values()) and not (interrupts.came and left)
    return ExitCode.OK if holds else ExitCode.UNDECIDED


def _explored(targets: Mapping[str, Target], options: Namespace, interrupts: Interrupts) -> dict[str, Verdict]:
    """Explore all targets, and make some of their runs again in other processes.

    After an interruption it begins no other target. Raises ``KeyboardInterrupt`` where none has a verdict.
    """
    plans = _plans(options, targets)
    verdicts: dict[str, Verdict] = {}
    runs: dict[Path, list[dict[str, Any]]] = {}
    search = SearchOptions(
        options.search,
        options.seed,
        options.walks,
        jobs=options.jobs,
        executor=options.executor,
        checkpoint=options.checkpoint,
        spill=options.spill,
        deepen=options.deepen,
        walk_on=True,
    )
    share = _RECHECKED // len(targets) or 1
    for title, target in targets.items():
        if _is_for_later(target, targets, verdicts):
            continue

        def record(model: Model, target: Target = target) -> None:
            if target.file.is_dir():  # the order of maps differs in each run of Go code, not from process to process
                return
            runs.setdefault(target.file, []).extend(recorded_runs(target.name, model.programs, most=share))

        if title in plans:
            verdicts[title] = explore_plan(target.scenario, plans[title], target.origin)
            continue
        line = ProgressLine(target.scenario.bounds.seconds, name=title)
        try:
            known = Source(str(target.file.resolve()), target.name, target.scenario.bounds, target.inputs)
            chosen = replace(search, progress=line, source=known)
            verdicts[title] = explore(target.scenario, chosen, inspect=record, origin=target.origin)
        except KeyboardInterrupt:
            if not verdicts:
                raise
        finally:
            line.clear()
        if interrupts.came:
            break
    if not options.one_process:
        inputs = next(iter(targets.values())).inputs
        for file, recorded in runs.items():
            recheck(file, recorded, inputs)
    return verdicts


def _show_fixes(targets: Mapping[str, Target], verdicts: Mapping[str, Verdict], options: Namespace) -> None:
    """Look for verified fixes of what is violated, a few seconds for each violation."""
    for title, verdict in verdicts.items():
        target = targets[title]
        if not verdict.violations or target.plan is not None:
            continue
        if not show_fixes(verdict, target.file.resolve(), target.name, target.inputs, chosen_bounds(options)):
            which = f"--go {target.file}" if target.file.is_dir() else str(target.file)
            verdict.notes.append(f"no verified fix found in {SHORT:g} s; kontend fix {which} looks longer")


def _is_for_later(target: Target, targets: Mapping[str, Target], verdicts: Mapping[str, Verdict]) -> bool:
    """Say whether a generated scenario waits until its controllers hold with a user who does less.

    It would show the same violation again, after a longer trace.
    """
    basis = basis_of(target.name)
    return target.scenario.name == GENERATED and any(
        verdict.violations and targets[title].file == target.file and basis_of(targets[title].name) == basis
        for title, verdict in verdicts.items()
    )


def _title(targets: Mapping[str, Target]) -> Path:
    """Return the file that all targets are from, or their common directory."""
    files = list(dict.fromkeys(target.file.resolve() for target in targets.values()))
    return files[0] if len(files) == 1 else Path(os.path.commonpath(files))


def _saved(directory: Path, document: Document) -> str:
    """Write a counterexample and its page; returns the path, or nothing if it cannot be written.

    The verdict is printed anyway.
    """
    try:
        return str(save(directory, document))
    except OSError as error:
        sys.stderr.write(f"kontend explore: the counterexample is not saved: {error}\n")
        return ""


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend explore",
        description="Check controllers against every order of calls, every cache lag, crashes and failures.",
        examples={
            "the scenarios of a file, or a generated one for its controllers": "kontend explore widgets.py",
            "wider bounds, and a page": "kontend explore widgets.py --lag 2 --concurrent 2 --html page.html",
            "random walks where there are too many states": "kontend explore widgets.py --search random --walks 5000",
        },
        epilog="Exit codes: 0 everything holds, 1 something is violated, 2 usage error, 3 undecided.",
        topic="explore",
    )
    add_target_options(made)
    group = add_bounds(made)
    group.add_argument("--plan", type=Path, metavar="FILE", help="try only the perturbations of a plan file (YAML)")
    _add_search(made)
    _add_output(made)
    add_timed_options(made)
    return made


def _add_search(made: Parser) -> None:
    group = made.add_argument_group("search")
    add = group.add_argument
    add(
        "--search",
        choices=STRATEGIES,
        default="breadth",
        help="search strategy: every state (breadth, depth), or random walks (random, pct) (default: breadth)",
    )
    add("--seed", type=at_least(0), default=0, metavar="N", help="random seed (default: 0)")
    add("--walks", type=at_least(1), default=1_000, metavar="N", help="number of walks (default: 1,000)")
    add(
        "--deepen",
        type=at_least(0),
        default=_DEEPEN,
        metavar="N",
        help=f"where everything holds with one fault in a run, search N states with two (default: {_DEEPEN:,})",
    )
    add("--one-process", action="store_true", help="do not compare runs with those in other processes")
    where = made.add_argument_group("where it runs")
    add_scale_options(where)
    where.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="go on from here after the search has ended early, or was killed"
    )
    where.add_argument(
        "--spill",
        type=Path,
        metavar="DIR",
        help="directory for what does not fit into --memory (default: that of --checkpoint, or a temporary one)",
    )


def _add_output(made: Parser) -> None:
    add = made.add_argument_group("output").add_argument
    add("--expect", metavar="PROPERTY", help="say whether this is violated (lost-update, ...), and what avoids it")
    add("--strict", action="store_true", help="exit with 3 where a part of the scenario never takes effect")
    text = "look for verified fixes, a few seconds for each violation (kontend fix looks longer)"
    add("--fix", action="store_true", help=text)
    add("--verbose", "-v", action="store_true", help="show every step and every field of a trace")
    add("--html", type=Path, metavar="FILE", help="write all verdicts as one HTML page")
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    text = f"directory for counterexamples (default: {_FAILURES})"
    add("--failures", type=Path, default=_FAILURES, metavar="DIR", help=text)
    add("--interactive", action="store_true", help="serve a page on this machine on which you choose the steps")
    add("--port", type=at_least(0), default=0, metavar="N", help="port of the interactive page (default: a free one)")


def _bounded_targets(options: Namespace) -> dict[str, Target]:
    """Return the scenarios to explore, with the bounds of the command line."""
    chosen = chosen_bounds(options)
    return {
        title: with_bounds(target, chosen.applied(target.scenario.bounds))
        for title, target in find_targets(options).items()
    }


def _plans(options: Namespace, targets: Mapping[str, Target]) -> dict[str, Plan]:
    """Return the plans of scenarios: that of the command line, or those of their files."""
    if options.plan is not None:
        return dict.fromkeys(targets, load_plan(options.plan))
    return {title: plan_of(target.plan, f"{title}: plan") for title, target in targets.items() if target.plan}


def _text(name: str, verdict: Verdict, files: list[str], *, verbose: bool, planned: bool) -> str:
    lines = [f"{name}:", verdict.text(verbose=verbose, width=columns())]
    shown = {slug(document) for document in grouped(verdict.documents)}
    for path, document in zip(files, verdict.documents, strict=True):
        if slug(document) not in shown:
            continue  # the same cause as another one
        if path:
            lines += [f"Open: {page_beside(path)}", f"Replay: kontend replay {path}"]
            lines.append(f"Look closer: kontend inspect {path}")
        if document.token:
            lines.append(f'Or in a test: @reproduce("{document.token}")')
    if any(_is_about_fields(document) for document in verdict.documents if slug(document) in shown):
        lines.append("If a field may differ: --ignore KIND.PATH, or Scenario(ignore=[...]), leaves it out")
    if not planned and any(_has_fault(document) for document in verdict.documents if slug(document) in shown):
        lines.append("Without faults: the same command with --faults 0 looks for runs that need none")
    return "\n".join(lines) + "\n"


def _is_about_fields(document: Document) -> bool:
    """Final states differ in fields of objects that both have: the author may want that."""
    violation = document.violation
    return violation.property == BuiltIn.DIVERGED and any(each.path for each in violation.difference)


def _has_fault(document: Document) -> bool:
    """A counterexample with a fault: the search shows the shortest one, and there may be one without."""
    return any(step.action in OPTIONAL for step in document.steps)


def _document(verdict: Verdict, files: list[str]) -> dict[str, Any]:
    return {
        "violations": [
            {
                "property": violation.property,
                "sentence": document.violation.sentence,
                "culprits": list(document.violation.culprits),
                "fix": encode(document.violation.fix),
                "difference": encode(document.violation.difference),
                "trace": list(violation.trace),
                "perturbations": violation.perturbations,
                "replay": file,
                "reproduce": violation.token,
            }
            for violation, document, file in zip(verdict.violations, verdict.documents, files, strict=True)
        ],
        "ok": verdict.ok,
        "states": verdict.states,
        "steps": verdict.steps,
        "finalStates": len(verdict.final_states),
        "baselineFinalStates": verdict.baseline_states,
        "exhausted": verdict.exhausted,
        "stopped": verdict.stopped,
        "notExpanded": verdict.cut,
        "levels": list(verdict.levels),
        "certain": verdict.certain,
        "suggestions": [suggestion._asdict() for suggestion in verdict.suggestions],
        "bounds": verdict.bounds,
        "guards": None if verdict.guards is None else list(verdict.guards),
        "notTried": list(verdict.not_tried),
        "untested": verdict.untested,
        "warnings": verdict.warnings,
        "notes": verdict.notes,
    }
