"""Watches over the idle process when a run is over for us: for its later timers, and for repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kontend.cluster.state import State
from kontend.live.gate.call import UNJUDGED, Call
from kontend.live.gate.records import Request
from kontend.live.runs.outcome import Run, Timer
from kontend.live.runs.setting import PRIMARY, Watch
from kontend.live.runs.stage import Stage

#: Seconds between two looks at the final state, while it may heal.
_LOOK: Final = 0.05


async def timers_of(stage: Stage) -> tuple[Timer, ...]:
    """Watch the idle process, and return the calls that come by themselves: timers beyond the patience."""
    gate = stage.gate
    records, idle_since = gate.log.records, gate.now()
    end = len(records)
    await stage.instances[PRIMARY].wait(stage.setting.observe)
    later = [record for record in records[end:] if isinstance(record, Request) and _is_timer(record.call, stage)]
    del records[end:]  # plans are derived from the run itself
    timers: dict[Call, Timer] = {}
    latest: dict[Call, float] = {}
    for request in later:
        since = request.arrived - idle_since
        known = timers.setdefault(request.call, Timer(request.call, since, 0))
        longest = max(known.longest, since - latest.get(request.call, 0.0))
        timers[request.call] = replace(known, count=known.count + 1, longest=longest)
        latest[request.call] = since
    return tuple(timers.values())


def _is_timer(call: Call, stage: Stage) -> bool:
    return call.verb != "watch" and call.resource not in UNJUDGED and call not in stage.setting.background


async def watch_healing(stage: Stage, watch: Watch, outcome: Callable[[State], Run]) -> tuple[State, float | None]:
    """Watch whether the process repairs by itself what the run has ended with.

    Return the last state that was judged, and the seconds after which it was right: 0 if it was right at once, None if
    it never was. ``outcome`` makes the run with another final state.
    """
    process, final, began = stage.instances[stage.current], stage.server.state, stage.gate.now()
    seen = final.resource_version, len(stage.gate.log.records)
    healing = await watch()
    if healing.is_healed(outcome(final)):
        return final, 0.0
    while True:
        now = stage.server.state.resource_version, len(stage.gate.log.records)
        if now != seen:
            final = stage.server.state
            if healing.is_healed(outcome(final)):
                return final, stage.gate.now() - began
        seen = now
        if stage.gate.now() - began >= healing.seconds or process.exited:
            return final, None
        await process.wait(_LOOK)
