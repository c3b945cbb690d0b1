"""``kontend explore FILE --timed``: runs in virtual time, and sweeps over a duration."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, at_least, write, write_page
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.timed.results import swept_result, timed_result
from kontend.explore.timed.simulation import SimulatedRun, simulate
from kontend.explore.timed.sweep import Point, as_json, bands, parse_sweep, sweep
from kontend.explore.timed.text import run_text, sweep_text
from kontend.explore.timed.timing import Duration, Timing, duration, seconds, share
from kontend.report.page.contents import ScenarioResult
from kontend.report.page.page import page

_T = TypeVar("_T")
_DEFAULTS: Final = Timing()


def add_options(parser: Parser) -> None:
    """Add the options of virtual time."""
    add = parser.add_argument_group("virtual time").add_argument
    add("--timed", action="store_true", help="run in virtual time, with durations drawn from the seed")
    durations: dict[str, tuple[Duration, str]] = {
        "lag": (_DEFAULTS.lag, "from a write until caches have it"),
        "call": (_DEFAULTS.call, "of a call to the server"),
        "action": (_DEFAULTS.action, "before each action of the user"),
        "restart": (_DEFAULTS.restart, "from a crash until the instance has started again"),
    }
    for name, (default, what) in durations.items():
        text = f"seconds {what}, or a range such as 0.5..1.5s (default: {default})"
        add(f"--{name}-seconds", type=_parsed(duration), default=default, metavar="D", help=text)
    retries = Duration(_DEFAULTS.first_retry, _DEFAULTS.longest_retry)
    text = f"the first and the longest delay before a failed reconcile runs again (default: {retries})"
    add("--backoff-seconds", type=_parsed(duration), default=retries, metavar="FIRST..LONGEST", help=text)
    add(
        "--frozen-seconds",
        type=_parsed(duration),
        default=Duration(0.0),
        metavar="FROM..TO",
        help="deliver no events between these times",
    )
    text = "seconds from the start of an instance until it crashes, or a range (default: it never crashes)"
    add("--crash-seconds", type=_parsed(duration), default=_DEFAULTS.crash, metavar="D", help=text)
    shares = {
        "failed": "calls that fail with 500 before they are carried out",
        "lost": "writes that are carried out and whose response is lost",
    }
    for name, what in shares.items():
        text = f"share of {what}, such as 5%% (default: none)"
        add(f"--{name}-share", type=_parsed(share), default=0.0, metavar="P", help=text)
    text = f"end of a run that has not come to rest (default: {_DEFAULTS.horizon / 60:g}m)"
    add("--horizon", type=_parsed(seconds), default=_DEFAULTS.horizon, metavar="D", help=text)
    text = "repeat for each value, such as lag=0..3s/0.1s; CONTROLLER.ATTRIBUTE sweeps an attribute"
    add("--sweep", type=_parsed(parse_sweep), metavar="PARAMETER=FROM..TO/STEP", help=text)
    add("--seeds", type=at_least(1), default=5, metavar="N", help="number of seeds for each value (default: 5)")


def run_timed(scenarios: Mapping[str, Scenario], options: Namespace, *, title: str = "kontend") -> int:
    """Run all scenarios in virtual time; ``title`` is that of the page, where one is asked for."""
    retries: Duration = options.backoff_seconds
    frozen: Duration = options.frozen_seconds
    timing = Timing(
        lag=options.lag_seconds,
        call=options.call_seconds,
        action=options.action_seconds,
        first_retry=retries.low,
        longest_retry=retries.high,
        frozen=(frozen.low, frozen.high),
        failed=options.failed_share,
        lost=options.lost_share,
        crash=options.crash_seconds,
        restart=options.restart_seconds,
        horizon=options.horizon,
    )
    seeds = range(options.seed, options.seed + options.seeds)
    documents: dict[str, Any] = {}
    results: list[ScenarioResult] = []
    bad = False
    for name, scenario in scenarios.items():
        if options.sweep is not None:
            points = list(sweep(scenario, timing, options.sweep, seeds=seeds))
            bad |= any(run.is_bad for point in points for run in point.runs)
            documents[name] = _sweep_document(options.sweep.parameter, points)
            results.append(swept_result(name, options.sweep, points))
            text = sweep_text(options.sweep, points)
        else:
            runs = [simulate(scenario, timing, seed=seed) for seed in seeds]
            bad |= any(run.is_bad for run in runs)
            documents[name] = {"runs": [_run_document(run) for run in runs]}
            results.append(timed_result(name, runs))
            text = "\n".join(run_text(run, verbose=options.verbose) for run in runs)
        if options.output_format == "text":
            write(f"{name}:\n{text}\n")
    if options.html is not None:
        write_page(options.html, page(results, title=title))
    if options.output_format == "json":
        write(orjson.dumps(documents, option=orjson.OPT_INDENT_2).decode() + "\n")
    return ExitCode.FINDINGS if bad else ExitCode.OK


def check_options(options: Namespace) -> None:
    """Refuse options of virtual time without ``--timed``."""
    if options.sweep is not None and not options.timed:
        raise UsageError("--sweep: say --timed as well; only runs in virtual time have durations")


def _sweep_document(parameter: str, points: list[Point]) -> dict[str, Any]:
    return {
        "parameter": parameter,
        "points": [as_json(point) for point in points],
        "bands": [{"from": band.first, "to": band.last, "verdict": band.verdict} for band in bands(points)],
    }


def _run_document(run: SimulatedRun) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "verdict": run.end,
        "seconds": round(run.seconds, 3),
        "reconciles": len(run.reconciles),
        "failed": sum(bool(reconcile.error) for reconcile in run.reconciles),
        "writes": run.writes,
        "cycle": len(run.cycle),
        "violations": [{"property": name, "seconds": round(at, 3)} for name, at in run.violations],
    }


def _parsed(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    def option(text: str) -> _T:
        try:
            return parse(text)
        except BadScenario as error:
            raise ArgumentTypeError(str(error)) from None

    return option
