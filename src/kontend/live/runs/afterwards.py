"""Watches over the idle process when a run is over for us: for its later timers, and for repairs."""

from __future__ import annotations

import asyncio
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
    #: The states that have not been judged yet, and when they came: the watch itself may be waited for.
    changes: list[tuple[State, float]] = []
    waiting, healing = asyncio.ensure_future(watch()), None
    try:
        while True:
            now = stage.server.state.resource_version, len(stage.gate.log.records)
            if now != seen:
                if changes and now[0] == seen[0]:  # a request that has changed nothing
                    changes.pop()
                changes.append((stage.server.state, stage.gate.now() - began))
            seen = now
            if healing is None and waiting.done():
                healing = waiting.result()
                if healing.is_healed(outcome(final)):
                    return final, 0.0
            if healing is not None:
                for final, after in changes:
                    if healing.is_healed(outcome(final)):
                        return final, after
                changes.clear()
                if stage.gate.now() - began >= healing.seconds or process.exited:
                    return final, None
            await process.wait(_LOOK)
    finally:
        waiting.cancel()
