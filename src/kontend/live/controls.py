"""Controls: unperturbed runs as patient as those that confirm a violation, and what they rule out.

A final state that differs is a violation only if the perturbation explains it. A controller that waits for something
which cannot happen here (a sidecar that answers, a certificate that is issued) goes on by its own timers: where a run
finds it is chance, and the first two unperturbed runs need not show that. So before a difference is reported, two more
unperturbed runs wait as long as the confirmation does, and one of them watches the idle process for as long as a
violation may take to heal. Whatever differs among all of them, or moves while nobody does anything, cannot be judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from kontend.live.baseline import Baseline
from kontend.live.gate.plan import Plan
from kontend.live.process.quiescence import Patience, Rest
from kontend.live.properties.final_state import unstable_fields
from kontend.live.properties.findings import Expected, failing_calls
from kontend.live.properties.masking import comparable
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import Setting

#: The silence that ends a patient run, as a multiple of the learned one and in seconds.
_LONGER: Final = 4.0
_AT_LEAST: Final = 1.0
#: The silence of a process that may be about to repeat a failed call, in a patient run: the least number of seconds.
_RETRY: Final = 1.5
#: A process is watched for a number of its own periods, and some seconds more, before it counts as one that does not
#: heal: the first one may be about something else.
_PERIODS: Final = 2.2
_MORE: Final = 3.0

RunPlan = Callable[[Setting, Plan], Awaitable[Run]]


def patient(baseline: Baseline) -> Setting:
    """Return the setting of runs that confirm, or rule out, what others have shown."""
    patience = baseline.setting.patience
    return replace(
        baseline.setting,
        patience=Patience(patience.silence, patience.limit * 2),
        last_silence=max(_AT_LEAST, patience.silence * _LONGER),
        retry_silence=max(_RETRY, patience.silence * _LONGER),
    )


@dataclass(frozen=True, slots=True)
class Period:
    """The time after which an idle process works by itself; None: it does not."""

    seconds: float | None

    def watch(self, longest: float, shortest: float) -> float:
        """Return the seconds for which a process is watched that may repair something by itself."""
        if self.seconds is None:
            return min(longest, shortest)
        return min(longest, max(shortest, self.seconds * _PERIODS + _MORE))


class Controls:
    """The controls of a campaign, carried out when they are first needed, once for each number of user actions."""

    def __init__(self, baseline: Baseline, run_plan: RunPlan, run_and_watch: RunPlan, *, observe: float = 0.0) -> None:
        """``observe`` is the time for which the idle process is watched, in seconds."""
        self._baseline = baseline
        self._setting = patient(baseline)
        self._run_plan = run_plan
        self._run_and_watch = run_and_watch
        self._observe = observe
        self._expected: dict[int | None, asyncio.Task[Expected]] = {}
        self._observed: asyncio.Task[Run] | None = None

    async def expected(self, actions: int | None) -> Expected:
        """Return what is expected of a run in which the user stops after some actions."""
        if actions is not None and actions >= len(self._setting.workload.actions):
            actions = None
        if actions not in self._expected:
            self._expected[actions] = asyncio.get_running_loop().create_task(self._widened(actions))
        return await asyncio.shield(self._expected[actions])

    def begin(self) -> None:
        """Begin the run that watches the idle process for long: it is needed before anything can be reported."""
        if self._observe and self._baseline.expected.finals:
            self._observing()

    def _observing(self) -> asyncio.Task[Run]:
        if self._observed is None:
            work = self._run_and_watch(replace(self._setting, observe=self._observe), Plan(()))
            self._observed = asyncio.ensure_future(work)
        return self._observed

    async def period(self) -> Period:
        """Return how often the idle process works by itself."""
        if not self._observe or not self._baseline.expected.finals:
            return Period(None)
        timers = [*(await self.observed()).timers, *self._baseline.runs[0].timers]
        return Period(max((timer.longest for timer in timers), default=None))

    async def observed(self) -> Run:
        """Return an unperturbed run whose idle process is watched for long."""
        return await asyncio.shield(self._observing())

    async def stop(self) -> None:
        """End the runs that still go on."""
        tasks = [*self._expected.values(), *([self._observed] if self._observed is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _widened(self, actions: int | None) -> Expected:
        known = self._baseline.expected_after(actions)
        if not known.finals:
            return known
        plan = Plan((), actions=actions)
        watched = [self.observed()] if actions is None and self._observe else []
        again = [self._run_plan(self._setting, plan) for _ in range(2 - len(watched))]
        runs = [run for run in await asyncio.gather(*again, *watched) if run.rest is Rest.IDLE]
        states = [state for run in runs for state in (run.final, run.observed) if state is not None]
        finals = [comparable(runs[0].initial, state, known.mask) for state in states]
        failing = frozenset(text for run in runs for text in failing_calls(run))
        every = [*known.finals, *finals]
        return known._replace(
            finals=every, failing=known.failing | failing, unstable=known.unstable | unstable_fields(every)
        )
