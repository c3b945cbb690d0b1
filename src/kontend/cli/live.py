"""``kontend live -- CMD``: explore an unmodified controller.

$ kontend live --crds config/crd --objects sample.yaml --actions actions.yaml -- ./bin/manager --leader-elect=false
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kontend.cli.command import ExitCode, Parser, UsageError, at_least, usage_errors, write
from kontend.cluster.startup.seed import empty_state
from kontend.kube.encoding.yaml_text import MalformedYAML, parse_yaml
from kontend.live.baseline import Unusable
from kontend.live.campaign import Campaign, Options
from kontend.live.gate.perturbation import BadPlan, Plan, plan_of
from kontend.live.process.process import CannotStart, Command
from kontend.live.process.quiescence import Patience
from kontend.live.ready import BadReady, parse_ready
from kontend.live.run import Setting
from kontend.live.workload import BadWorkload, Workload, check_actions, read_actions
from kontend.serve import manifests
from kontend.serve.manifests import BadManifest

Result = TypeVar("Result")
_ERRORS = (BadManifest, BadPlan, BadReady, BadWorkload, CannotStart, Unusable)


def _parser() -> Parser:
    parser = Parser(
        prog="kontend live",
        usage="kontend live [options] -- COMMAND [ARGUMENT ...]",
        description="Explore an unmodified controller: run it against a gated API server, derive plans from what it "
        "does, and carry them out: crashes, lost responses, failures, stale caches, concurrent users, hand-overs.",
        epilog="Exit codes: 0 no violation, 1 violations, 2 usage error, 3 not all plans were carried out.",
    )
    add = parser.add_argument
    paths: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATH", "type": Path}
    add("--crds", **paths, help="file or directory with custom resource definitions (repeatable)")
    add("--objects", **paths, help="file or directory with objects to begin with (repeatable)")
    add("--actions", type=Path, metavar="FILE", help="YAML file with the steps of a user, taken one after the other")
    add("--controllers", action="store_true", help="run what kube-controller-manager runs: Deployments, owners ...")
    add("--pods", action="store_true", help="schedule pods and let them run")
    add("--list-plans", action="store_true", help="run the baseline, print the plans and stop")
    add("--only", default="", metavar="TEXT", help="carry out only plans whose name contains this text")
    add("--plan", action="append", default=[], type=Path, metavar="FILE", help="carry out this plan (repeatable)")
    add("--seconds", type=at_least(1), default=0, metavar="N", help="begin no plan after so many seconds")
    add("--jobs", type=at_least(1), default=1, metavar="N", help="runs at the same time (default: 1)")
    add("--patience", type=_seconds, default=1.0, metavar="S", help="silence that ends the first run (default: 1)")
    add("--limit", type=_seconds, default=20.0, metavar="S", help="give up waiting for silence (default: 20)")
    add("--ready", metavar="URL|REGEX", help="ready when this URL answers, or the output matches (default: when idle)")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="environment of the command (repeatable)")
    add("--directory", type=Path, default=Path(), metavar="DIR", help="working directory of the command")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise ValueError(text)
    return value


def run(argv: Sequence[str]) -> int:
    """Run ``kontend live``."""
    arguments = list(argv)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = _parser().parse_args(arguments[:split])
    command = arguments[split + 1 :]
    if not command:
        raise UsageError("no command: kontend live [options] -- COMMAND [ARGUMENT ...]")
    with usage_errors(*_ERRORS):
        campaign = Campaign(_setting(options, command), _options(options))
        if options.list_plans:
            return _to_the_end(_list_plans(campaign))
        return _to_the_end(_explore(campaign))


def _to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end; SIGTERM and Ctrl-C end it in an orderly way, so that no process is left behind."""

    async def main() -> Result:
        task = asyncio.ensure_future(work)
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    return asyncio.run(main())


async def _list_plans(campaign: Campaign) -> int:
    plans = campaign.plans(await campaign.baseline())
    write("".join(f"{plan.name}: {plan.reason}\n" for plan in plans))
    return ExitCode.OK


async def _explore(campaign: Campaign) -> int:
    verdict = await campaign.explore()
    write("".join(f"{line}\n" for line in verdict.lines()))
    if verdict.violations or verdict.baseline.findings:
        return ExitCode.FINDINGS
    return ExitCode.OK if verdict.ok else ExitCode.UNDECIDED


def _options(options: Namespace) -> Options:
    plans = tuple(_plan(path) for path in options.plan)
    return Options(options.jobs, float(options.seconds), options.only, plans, progress=_progress())


def _plan(path: Path) -> Plan:
    try:
        return plan_of(parse_yaml(path.read_bytes())[0])
    except OSError as error:
        raise UsageError(f"--plan {path}: {error.strerror}") from None
    except MalformedYAML as error:
        raise UsageError(f"--plan {path}: not YAML: {error.message}") from None
    except BadPlan as error:
        raise UsageError(f"--plan {path}: {error}") from None


def _setting(options: Namespace, command: Sequence[str]) -> Setting:
    state = empty_state(int(time.time()))
    state, _ = manifests.store_all(state, manifests.read_definitions(options.crds), manager="kontend")
    state, _ = manifests.store_all(state, manifests.read(options.objects), manager="user")
    actions = read_actions(options.actions) if options.actions else ()
    check_actions(state, actions, str(options.actions))
    directory = options.directory.resolve()
    if not directory.is_dir():
        raise UsageError(f"--directory {options.directory}: not a directory")
    environment = {}
    for text in options.env:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {text}: expected NAME=VALUE")
        environment[name] = value
    arguments = list(command)
    if os.sep in arguments[0]:
        arguments[0] = str(Path(arguments[0]).absolute())
    return Setting(
        Command(tuple(arguments), directory, environment),
        Workload(state, actions),
        Patience(options.patience, options.limit),
        ready=parse_ready(options.ready) if options.ready else None,
        inside=_inside(options),
    )


def _inside(options: Namespace) -> Callable[[Any], None] | None:
    if not options.controllers and not options.pods:
        return None
    from kontend.cli.serve_controllers import Inside

    def start(server: Any) -> None:
        Inside(server, built_in=options.controllers, pods=options.pods).start()

    return start


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int, plans: int) -> None:
        sys.stderr.write(f"\r{done} of {plans} plans\033[K\r")
        sys.stderr.flush()

    return show
