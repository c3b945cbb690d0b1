"""``kontend live -- CMD``: explore an unmodified controller.

$ kontend live --crds config/crd --objects sample.yaml --actions actions.yaml -- ./bin/manager --leader-elect=false
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from kontend.cli.command import ExitCode, UsageError, usage_errors, write
from kontend.cli.live.derived import derive_actions
from kontend.cli.live.logs import Logs, tell_once
from kontend.cli.live.options import ERRORS, parser, setting_of, to_the_end
from kontend.cli.live.replay import invocation
from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml
from kontend.live.baseline import Baseline, tail_of
from kontend.live.campaign import Campaign, Options, Progress
from kontend.live.confirmation import Identity, identity
from kontend.live.gate.plan import BadPlan, Plan, plan_of
from kontend.live.process.processes import age
from kontend.live.verdicts.data import Saved, data_of
from kontend.live.verdicts.trace import document_of
from kontend.live.verdicts.verdict import Violation, head_of, lines_of
from kontend.report.archive import write_archive
from kontend.report.page.contents import results_of
from kontend.report.page.page import page
from kontend.safe_files import write_whole


def run(argv: Sequence[str]) -> int:
    """Run ``kontend live``."""
    arguments = list(argv)
    given, *commands = _split(arguments)
    options = parser().parse_args(given)
    if not commands or not all(commands):
        raise UsageError("no command: kontend live [options] -- COMMAND [ARGUMENT ...] [-- COMMAND ...]")
    command, *beside = commands
    # Those of Python and of its imports count as well: on a loaded machine they are many.
    before = age() if [*argv] == sys.argv[2:] else 0.0
    began = time.monotonic() - before
    tell_once()
    with usage_errors(*ERRORS):
        derive_actions(options, command, beside)
        setting = setting_of(options, command, beside)
        logs = Logs(options.failures / "logs")
        if options.list_plans:
            campaign = Campaign(setting, _options(options, logs))
            return to_the_end(_list_plans(campaign, as_json=options.output_format == "json"))
        shown = _Shown(options.failures, invocation(options, command, beside), as_json=options.output_format == "json")
        spent = time.monotonic() - began  # a first run may have shown the children that the user edits
        limits = replace(_options(options, logs), spent=spent, established=shown.establish, found=shown.find)
        return to_the_end(_explore(Campaign(setting, limits), shown, logs))


def _split(arguments: Sequence[str]) -> list[list[str]]:
    """Return the options, and the commands that ``--`` sets apart.

    >>> _split(["--pods", "--", "a", "-v", "--", "b"])
    [['--pods'], ['a', '-v'], ['b']]
    """
    parts: list[list[str]] = [[]]
    for argument in arguments:
        if argument == "--":
            parts.append([])
        else:
            parts[-1].append(argument)
    return parts


async def _list_plans(campaign: Campaign, *, as_json: bool) -> int:
    baseline = await campaign.baseline()
    plans = campaign.plans(baseline)
    if as_json:
        _write_json({"plans": [{"name": plan.name, **plan.to_json()} for plan in plans]})
    else:
        write("".join(f"{plan.name}: {plan.reason}\n" for plan in plans))
    seconds = sum(run.seconds for run in baseline.runs[1:]) / max(1, len(baseline.runs) - 1)
    sys.stderr.write(f"kontend live: {len(plans)} plans, about {len(plans) * seconds:.0f} s one after the other\n")
    if baseline.vacuous:
        tail = tail_of(baseline.runs[0])
        sys.stderr.write(f"kontend live: undecided: {baseline.vacuous}; the end of the output:\n{tail}\n")
        return ExitCode.UNDECIDED
    return ExitCode.OK


async def _explore(campaign: Campaign, shown: _Shown, logs: Logs) -> int:
    verdict = await campaign.explore()
    for violation in verdict.violations:
        shown.find(violation, verdict.baseline)  # those that were not explained in time
    if shown.as_json:
        _write_json(data_of(verdict, shown.saved, str(logs.directory) if logs.kept else ""))
    else:
        write("".join(f"{line}\n" for line in (*verdict.summary(), *verdict.rest())))
        write(f"Logs: {logs.directory}\n" if logs.kept else "")
    if verdict.violated:
        return ExitCode.FINDINGS
    return ExitCode.OK if verdict.ok else ExitCode.UNDECIDED


def _write_json(document: dict[str, Any]) -> None:
    write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")


class _Shown:
    """Saves each violation as soon as it is known, so that whatever stops the command costs none.

    As text it is also printed at once, after the baseline; JSON is one document, which comes at the end.
    """

    def __init__(self, failures: Path, invoked: dict[str, Any], *, as_json: bool) -> None:
        self.as_json = as_json
        self._failures = failures
        self._invoked = invoked
        self._found: dict[tuple[Identity, Plan], Saved] = {}

    def establish(self, baseline: Baseline) -> None:
        """Print the baseline."""
        if not self.as_json:
            write("".join(f"{line}\n" for line in head_of(baseline)))

    def find(self, violation: Violation, baseline: Baseline) -> None:
        """Save the trace of a violation and print it, once."""
        name = (identity(violation.finding), violation.plan)
        if name in self._found:
            return
        saved = self._found[name] = _save(self._failures, violation, baseline, self._invoked)
        if not self.as_json:
            places = f"Open: {saved.page}\nReplay: kontend replay {saved.trace}\n" if saved.trace else ""
            write("".join(f"{line}\n" for line in lines_of(violation)) + places)

    def saved(self, violation: Violation) -> Saved:
        """Return the files of a violation."""
        return self._found.get((identity(violation.finding), violation.plan), Saved())


def _save(directory: Path, violation: Violation, baseline: Baseline, invoked: dict[str, Any]) -> Saved:
    """Write the trace and the page of a violation, and return where they are. Without them it is printed anyway."""
    try:
        document = document_of(violation, baseline, invoked)
        path = write_archive(directory, document)
        write_whole(path.with_suffix(".html"), page(results_of([document]), title="kontend live").encode())
    except OSError as error:
        sys.stderr.write(f"kontend live: the trace is not saved: {error}\n")
        return Saved()
    except Exception as error:  # an error in one trace costs neither the others nor the verdict
        name = violation.finding.property
        sys.stderr.write(f"kontend live: internal error: the trace of {name} is not saved: {error!r}\n")
        return Saved()
    if violation.cause.failed:
        sys.stderr.write(
            f"kontend live: the cause of {violation.finding.property} is {violation.cause.sentence}; "
            f"{path} has all steps of the run\n"
        )
    return Saved(str(path), str(path.with_suffix(".html")))


def _options(options: Namespace, logs: Logs) -> Options:
    plans = tuple(_plan(path) for path in options.plan)
    return Options(
        options.jobs,
        float(options.seconds),
        options.only,
        plans,
        options.pairs,
        heal=options.heal,
        progress=_progress(),
        ran=logs.keep,
    )


def _plan(path: Path) -> Plan:
    try:
        return plan_of(parse_yaml(path.read_bytes())[0])
    except OSError as error:
        raise UsageError(f"--plan {path}: {error.strerror}") from None
    except MalformedYAML as error:
        raise UsageError(f"--plan {path}: not YAML: {error.message}") from None
    except BadPlan as error:
        raise UsageError(f"--plan {path}: {error}") from None


def _progress() -> Callable[[Progress], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(progress: Progress) -> None:
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        alarms = f"{progress.violations} violation{'s'[: progress.violations != 1]}"
        sys.stderr.write(f"\r{progress.done} of {progress.plans} plans, {alarms}{left}\033[K\r")
        sys.stderr.flush()

    return show
