"""The workload of a command line without ``--actions``: derived, written down, and used as if it had been given."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kontend.cli.command import UsageError, write
from kontend.cli.live.options import setting_of, to_the_end
from kontend.cluster.startup import manifests
from kontend.live.campaign import out_of_time
from kontend.live.gate.plan import Plan
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.runs.webhooks import without_webhooks
from kontend.live.runs.workload import UserAction
from kontend.live.workloads.candidates import candidates
from kontend.live.workloads.steps import steps, with_children
from kontend.live.workloads.writing import as_yaml
from kontend.safe_files import write_whole

_FILE = "workload.yaml"


def derive_actions(options: Namespace, command: Sequence[str], beside: Sequence[Sequence[str]]) -> None:
    """Derive ``--actions`` where there are none and the objects at the start are not custom ones.

    The controller runs once without perturbations, which shows the children that a user may edit.
    """
    definitions = [dict(each.obj) for each in manifests.read_definitions(options.crds)]
    if options.actions is not None or not definitions:
        if options.workload is not None:
            raise UsageError("--workload writes a derived workload down: it needs --crds, and no --actions")
        return
    kinds = {definition["spec"]["names"]["kind"] for definition in definitions}
    if options.workload is None and any(each.obj.get("kind") in kinds for each in manifests.read(options.objects)):
        return
    setting = setting_of(options, command, beside)
    alone = without_webhooks(setting.workload.state)
    objects = candidates(alone, definitions, options.crds)
    if not objects:
        raise UsageError(
            "no object of a custom kind could be derived: neither is there a sample beside --crds that the server "
            "accepts, nor do the definitions' required fields make a valid one; write --actions"
        )
    actions = steps(alone, objects)
    actions = with_children(actions, to_the_end(_first_run(_with(setting, actions), options.seconds)))
    path: Path = options.workload or options.failures / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, as_yaml(actions))
    options.actions = path
    write(f"workload: {len(actions)} steps, derived; {path} has them (--actions)\n")
    for number, action in enumerate(actions, start=1):
        write(f"  {number} {action.text}\n")


async def _first_run(setting: Setting, seconds: float) -> Run:
    """Run the controller without perturbations, for some seconds at most; 0 is no limit."""
    try:
        async with asyncio.timeout(seconds or None):
            return await carry_out(setting, Plan(()))
    except TimeoutError:
        raise out_of_time(seconds) from None


def _with(setting: Setting, actions: Sequence[UserAction]) -> Setting:
    return replace(setting, workload=replace(setting.workload, actions=tuple(actions)))
