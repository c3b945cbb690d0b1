"""``kontend live -- CMD``: explore an unmodified controller.

$ kontend live --crds config/crd --objects sample.yaml --actions actions.yaml -- ./bin/manager --leader-elect=false
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kontend.cli.command import ExitCode, UsageError, usage_errors, write
from kontend.cli.live.options import ERRORS, parser, setting_of, to_the_end
from kontend.cli.live.replay import invocation
from kontend.kube.encoding.yaml_text import MalformedYAML, parse_yaml
from kontend.live.baseline import Baseline
from kontend.live.campaign import Campaign, Options
from kontend.live.gate.plan import BadPlan, Plan, plan_of
from kontend.live.verdicts.trace import document_of
from kontend.live.verdicts.verdict import Violation
from kontend.report.archive import write_archive
from kontend.report.page.contents import results_of
from kontend.report.page.page import page
from kontend.safe_files import write_whole


def run(argv: Sequence[str]) -> int:
    """Run ``kontend live``."""
    arguments = list(argv)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser().parse_args(arguments[:split])
    command = arguments[split + 1 :]
    if not command:
        raise UsageError("no command: kontend live [options] -- COMMAND [ARGUMENT ...]")
    with usage_errors(*ERRORS):
        campaign = Campaign(setting_of(options, command), _options(options))
        if options.list_plans:
            return to_the_end(_list_plans(campaign))
        return to_the_end(_explore(campaign, options.failures, invocation(options, command)))


async def _list_plans(campaign: Campaign) -> int:
    plans = campaign.plans(await campaign.baseline())
    write("".join(f"{plan.name}: {plan.reason}\n" for plan in plans))
    return ExitCode.OK


async def _explore(campaign: Campaign, failures: Path, invoked: dict[str, Any]) -> int:
    verdict = await campaign.explore()
    # Traces are saved before anything is printed: whatever stops the output does not cost them.
    saved = [_save(failures, violation, verdict.baseline, invoked) for violation in verdict.violations]
    write("".join(f"{line}\n" for line in verdict.lines()))
    write("".join(saved))
    if verdict.violated:
        return ExitCode.FINDINGS
    return ExitCode.OK if verdict.ok else ExitCode.UNDECIDED


def _save(directory: Path, violation: Violation, baseline: Baseline, invoked: dict[str, Any]) -> str:
    """Write the trace and the page of a violation, and return where they are. Without them it is printed anyway."""
    try:
        document = document_of(violation, baseline, invoked)
        path = write_archive(directory, document)
        write_whole(path.with_suffix(".html"), page(results_of([document]), title="kontend live").encode())
    except OSError as error:
        sys.stderr.write(f"kontend live: the trace is not saved: {error}\n")
        return ""
    except Exception as error:  # an error in one trace costs neither the others nor the verdict
        name = violation.finding.property
        sys.stderr.write(f"kontend live: internal error: the trace of {name} is not saved: {error!r}\n")
        return ""
    if violation.cause.failed:
        sys.stderr.write(
            f"kontend live: the cause of {violation.finding.property} is {violation.cause.sentence}; "
            f"{path} has all steps of the run\n"
        )
    return f"Open: {path.with_suffix('.html')}\nReplay: kontend replay {path}\n"


def _options(options: Namespace) -> Options:
    plans = tuple(_plan(path) for path in options.plan)
    return Options(
        options.jobs,
        float(options.seconds),
        options.only,
        plans,
        options.pairs,
        heal=options.heal,
        progress=_progress(),
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


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int, plans: int) -> None:
        sys.stderr.write(f"\r{done} of {plans} plans\033[K\r")
        sys.stderr.flush()

    return show
