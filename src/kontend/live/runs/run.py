"""One run: a server that begins in the same state as every other, a process, the user's actions, and a plan.

A run is a sequence of :mod:`~kontend.live.runs.phases`. The first begins with the start of the process, each other one
with actions of the user; each ends when the process has come to rest (:mod:`~kontend.live.runs.settling`).
Perturbations at a call are carried out by the gate as the call is reached, the others between or at the beginning of
phases.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from kontend.live.gate.perturbation import Rewind, Skip
from kontend.live.gate.plan import Plan
from kontend.live.runs.afterwards import timers_of, watch_healing
from kontend.live.runs.older_states import older_versions
from kontend.live.runs.outcome import Run
from kontend.live.runs.phases import Act, ActUnwatched, ActWhileDown, Begin, Phase, next_phase, restarts
from kontend.live.runs.recording import Recording
from kontend.live.runs.setting import PRIMARY, Setting
from kontend.live.runs.settling import Over, settle
from kontend.live.runs.stage import Stage


async def carry_out(setting: Setting, plan: Plan) -> Run:
    """Carry out one run. Whatever happens, no process is left behind."""
    stage = Stage(setting, plan)
    recording = Recording(stage)
    began, worked = asyncio.get_running_loop().time(), time.process_time()
    with tempfile.TemporaryDirectory(prefix="kontend-live-") as directory:
        stage.pods.directory = Path(directory)
        await stage.instances.listen(Path(directory))
        if setting.inside is not None:
            stage.inside = setting.inside(stage.server)
        try:
            await _phases(stage, recording)
            final = stage.server.state
            more = await _afterwards(stage, recording)
            final = more.pop("final", final)
        except Over:
            final, more = stage.server.state, {}
        finally:
            stage.user.stop()
            await stage.pods.stop()
            await stage.instances.stop()
    worked = time.process_time() - worked + stage.instances.processor
    return recording.outcome(final, seconds=asyncio.get_running_loop().time() - began, processor=worked, **more)


async def _phases(stage: Stage, recording: Recording) -> None:
    phase: Phase | None = Begin()
    while phase is not None:
        await _begin(phase, stage)
        await _end(phase, stage, recording)
        phase = next_phase(stage.plan, stage.gate.action, stage.user.count)


async def _afterwards(stage: Stage, recording: Recording) -> dict[str, Any]:
    """Watch the idle process when the run is over for us; return fields of its outcome."""
    setting, more = stage.setting, {}
    if setting.observe and not stage.plan.perturbations:
        more = {"timers": await timers_of(stage), "observed": stage.server.state}
    if setting.watch is not None:
        final, healed = await watch_healing(stage, setting.watch, recording.outcome)
        more |= {"final": final, "healed": healed}
    return more


async def _begin(phase: Phase, stage: Stage) -> None:
    match phase:
        case Begin():
            stage.holds.begin(0)
            await stage.instances.start_companions()
            await stage.start(PRIMARY)
        case Act(number):
            stage.holds.begin(number, including=True)
            stage.user.act_until(number)
            await asyncio.sleep(0)  # what the action has changed is published now
            stage.holds.begin(number)
        case ActWhileDown(_, last):
            await stage.stop()
            stage.user.act_until(last)
            await stage.start(PRIMARY)
        case ActUnwatched(_, skip):
            await _skip(skip, stage)


async def _end(phase: Phase, stage: Stage, recording: Recording) -> None:
    """Wait until the process is idle, then carry out what the plan has for this moment."""
    await settle(stage, recording)
    last = max(phase.number, stage.gate.action)
    if stage.holds.show():
        await settle(stage, recording)
    is_last = stage.user.is_done
    for hold in [hold for hold in stage.holds.begun if hold.last <= last or is_last]:
        if stage.holds.end(hold):
            stage.instances.note(PRIMARY, "deliver", f"{PRIMARY} receives the events of {hold.resource}")
            await settle(stage, recording)
    for restart in restarts(stage.plan, phase.number):
        if isinstance(restart, Rewind):
            await _rewind(restart, stage, recording)
        else:
            await stage.restart()
            await settle(stage, recording)
    recording.note_phase(phase.number)


# Older lists


async def _skip(skip: Skip, stage: Stage) -> None:
    stage.gate.hold(skip.resource)
    stage.user.act_until(skip.last)
    await asyncio.sleep(0)
    if stage.gate.expire(skip.resource):
        stage.instances.note(PRIMARY, "relist", f"the watch of {skip.resource} expires, {PRIMARY} lists again")


async def _rewind(rewind: Rewind, stage: Stage, recording: Recording) -> None:
    """Restart the process onto an older list, let it work with that, then let it catch up."""
    state = stage.server.state
    versions = older_versions(state, rewind.resource, changes=rewind.changes)
    if len(versions) < rewind.events:
        return
    version = versions[-rewind.events]
    objects = state.objects_at(rewind.resource, version)
    older = state.replace(kinds=state.kinds.insert(rewind.resource, objects), resource_version=version)
    stage.gate.rewound = {rewind.resource: older}
    await stage.stop()
    stage.gate.hold(rewind.resource)
    await stage.start(PRIMARY)
    await settle(stage, recording)
    stage.gate.rewound = {}
    if stage.gate.release(rewind.resource):
        await settle(stage, recording)
