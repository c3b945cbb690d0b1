"""The silence that ends a phase: how long a process has to say nothing before it counts as idle, and from when on.

Both depend on what the process has done last. One that was just started looks every 0.1 s whether its caches have
synced; one whose last attempt at a call has failed may be about to repeat it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kontend.live.process.quiescence import Patience
from kontend.live.runs.setting import PRIMARY
from kontend.live.runs.stage import Stage

#: Rounds of a process that polls, without work in between, after which it has nothing to do: however long they take.
_ROUNDS: Final = 3
#: The silence that ends a start, in seconds: client-go looks every 0.1 s whether its caches have synced.
_AFTER_START: Final = 0.25
#: The silence after repeated failures, as a multiple of the longest time between two of them, and in seconds at most.
_BACKOFF: Final = 2.3
_LONGEST_BACKOFF: Final = 5.0
#: Failures of one call in a row, or repetitions that change nothing, after which a process that lacks events waits for
#: these: it asks again and again for what is on its way.
_IN_VAIN: Final = 10


def patience(stage: Stage) -> Patience:
    """Return the patience with the process as it is now."""
    silence = stage.setting.patience.silence
    return replace(stage.setting.patience, silence=max(silence, _AFTER_START) if stage.fresh else silence)


def longer_silence(stage: Stage) -> float:
    """Return the silence to wait for now, where it is longer than the patience."""
    return max(stage.setting.last_silence if stage.user.is_done else 0.0, _retry_silence(stage))


def _retry_silence(stage: Stage) -> float:
    """Return the silence of a process that may be about to repeat a call."""
    setting = stage.setting
    gaps = [gap for call, gap in stage.gate.activity.failed(stage.current).items() if call not in setting.failing]
    if not gaps:
        return 0.0
    if stage.user.is_done and stage.holds.are_over and not stage.gate.rewound:
        # Nothing else will happen. A backoff doubles the time from one attempt to the next.
        return max(setting.retry_silence, min(_BACKOFF * max(gaps), _LONGEST_BACKOFF))
    return setting.retry_silence


def may_be_idle(stage: Stage) -> bool:
    """Return whether silence counts: the process has begun to work, and nobody waits for it."""
    if stage.current not in stage.gate.activity.heard or stage.user.waits:
        return False
    if stage.slow_writes:
        return True  # it may wait for its write before it watches, comes round or becomes ready
    if not stage.setting.watches <= stage.gate.watched(stage.current):
        return False
    if stage.setting.background and stage.gate.activity.rounds(stage.current) < _ROUNDS:
        return False
    return stage.instances.is_ready(stage.current)


def is_stuck(stage: Stage) -> bool:
    """Return whether the process can only repeat a call in vain until it receives what is held back from it."""
    lacks_events = stage.current == PRIMARY and stage.gate.undelivered() > 0
    return lacks_events and stage.gate.activity.is_stuck(PRIMARY, _IN_VAIN, stage.setting.retry_silence)
