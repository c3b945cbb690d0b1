"""One run: a server that begins in the same state as every other, a process, the user's actions, and a plan.

A run is a sequence of phases. The first begins with the start of the process, each other one with an action of the
user; each ends when the process is idle. Perturbations at a point are carried out by the gate as the point is reached,
the others between or at the beginning of phases.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from kontend.live.gate.call import UNJUDGED, Call
from kontend.live.gate.decisions import Decisions
from kontend.live.gate.gate import LiveGate
from kontend.live.gate.perturbation import Down, Fail, HandOver, LoseResponse, Rewind, Skip
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Request
from kontend.live.process.process import Process
from kontend.live.process.quiescence import Patience, Rest, wait_until_idle
from kontend.live.runs.holds import Holds
from kontend.live.runs.instances import Instances
from kontend.live.runs.outcome import Exit, Run, Timer
from kontend.live.runs.setting import PRIMARY, SECOND, Setting
from kontend.live.runs.user import User
from kontend.serve.server import Server

#: Rounds of a process that polls, without work in between, after which it has nothing to do: however long they take.
_ROUNDS: Final = 3
_PORT_TAKEN: Final = "address already in use"
#: The silence that ends a start, in seconds: client-go looks every 0.1 s whether its caches have synced.
_AFTER_START: Final = 0.25
#: The silence after repeated failures, as a multiple of the longest time between two of them, and in seconds at most.
_BACKOFF: Final = 2.3
_LONGEST_BACKOFF: Final = 5.0
#: Failures of one call in a row after which a process that lacks events waits for these.
_IN_VAIN: Final = 10
#: Seconds between two looks at the final state, while it may heal.
_LOOK: Final = 0.05


class _Over(Exception):
    """The run cannot go on: a process has exited, or does not become idle."""


class Runner:
    """Carries out one run; it is the conductor of the gate."""

    def __init__(self, setting: Setting, plan: Plan) -> None:
        self._setting = setting
        self._plan = plan
        self._decisions = Decisions(plan.perturbations)
        self._gate = LiveGate(self._decisions, self, primary=PRIMARY, background=setting.background)
        self._server = Server(setting.workload.state, gate=self._gate)
        self._gate.server = self._server
        self._user = User(self._server, self._gate, setting.workload.actions[: plan.actions], setting.refused)
        self._holds = Holds(self._gate, plan, setting.most_writes)
        #: The instance that the run waits for.
        self._current = PRIMARY
        initial = setting.workload.state
        self._run = Run(plan, self._gate.log, Rest.IDLE, initial, initial, setting.properties)
        self._instances = Instances(setting, self._server, self._gate, self._run.outputs)
        self._crashed = False
        #: The process has been started and has not been idle yet.
        self._fresh = False
        #: It has ended while it started, and was started again.
        self._started_again = False
        self._delayed: Callable[[], None] | None = None
        self._slow: list[Callable[[], None]] = []

    async def run(self) -> Run:
        """Carry out the run. Whatever happens, no process is left behind."""
        run, began = self._run, asyncio.get_running_loop().time()
        with tempfile.TemporaryDirectory(prefix="kontend-live-") as directory:
            await self._instances.listen(Path(directory))
            if self._setting.inside is not None:
                self._setting.inside(self._server)
            try:
                await self._phases()
                run.final = self._server.state
                await self._observe()
                await self._watch_healing()
            except _Over:
                run.final = self._server.state
            finally:
                self._user.stop()
                await self._instances.stop()
        run.missed = tuple(self._decisions.waiting)
        run.refusals = self._user.refusals
        run.seconds = asyncio.get_running_loop().time() - began
        return run

    # Phases

    async def _phases(self) -> None:
        self._holds.begin(0)
        await self._instances.start_companions()
        await self._start(PRIMARY)
        await self._end_phase(0)
        while not self._user.is_done:
            await self._phase(self._gate.action + 1)

    async def _observe(self) -> None:
        """List the calls that come when the run is over for us: timers beyond the patience."""
        if not self._setting.observe or self._plan.perturbations:
            return
        records, idle_since = self._gate.log.records, self._gate.now()
        end = len(records)
        await self._instances[PRIMARY].wait(self._setting.observe)
        later = [record for record in records[end:] if isinstance(record, Request) and self._is_timer(record.call)]
        del records[end:]  # plans are derived from the run itself
        self._run.observed = self._server.state
        timers: dict[Call, Timer] = {}
        latest: dict[Call, float] = {}
        for request in later:
            since = request.arrived - idle_since
            known = timers.setdefault(request.call, Timer(request.call, since, 0))
            longest = max(known.longest, since - latest.get(request.call, 0.0))
            timers[request.call] = replace(known, count=known.count + 1, longest=longest)
            latest[request.call] = since
        self._run.timers = tuple(timers.values())

    async def _watch_healing(self) -> None:
        """Note when the process repairs by itself what the run has ended with, if it does."""
        healing, process, seen = self._setting.healing, self._instances[self._current], None
        if healing is None:
            return
        if healing.is_healed(self._run):
            self._run.healed = 0.0
            return
        began = self._gate.now()
        while self._gate.now() - began < healing.seconds and not process.exited:
            now = self._server.state.resource_version, len(self._gate.log.records)
            if seen is not None and now != seen:
                self._run.final = self._server.state
                if healing.is_healed(self._run):
                    self._run.healed = self._gate.now() - began
                    return
            seen = now
            await process.wait(_LOOK)

    def _is_timer(self, call: Call) -> bool:
        return call.verb != "watch" and call.resource not in UNJUDGED and call not in self._setting.background

    async def _phase(self, number: int) -> None:
        for perturbation in self._plan.perturbations:
            if isinstance(perturbation, Down) and perturbation.first == number <= perturbation.last:
                await self._stop()
                self._user.act_until(perturbation.last)
                await self._start(PRIMARY)
                await self._end_phase(number)
                return
            if isinstance(perturbation, Skip) and perturbation.first == number:
                await self._skip(perturbation)
                await self._end_phase(number)
                return
        self._holds.begin(number, including=True)
        self._user.act_until(number)
        await asyncio.sleep(0)  # what the action has changed is published now
        self._holds.begin(number)
        await self._end_phase(number)

    async def _end_phase(self, number: int) -> None:
        """Wait until the process is idle, then carry out what the plan has for this moment."""
        await self._settle()
        last = max(number, self._gate.action)
        if self._holds.show():
            await self._settle()
        is_last = self._user.is_done
        for hold in [hold for hold in self._holds.begun if hold.last <= last or is_last]:
            if self._holds.end(hold):
                self._instances.note(PRIMARY, "deliver", f"{PRIMARY} receives the events of {hold.resource}")
                await self._settle()
        for perturbation in self._plan.perturbations:
            if (
                isinstance(perturbation, Down)
                and perturbation.last < perturbation.first
                and perturbation.last == number
            ):
                await self._stop()
                await self._start(PRIMARY)
                await self._settle()
            if isinstance(perturbation, Rewind) and perturbation.after == number:
                await self._rewind(perturbation)
        self._run.phases.append(self._server.state)
        if not self._holds.begun:
            self._run.settled[self._gate.action] = self._server.state
        self._run.caches |= self._gate.watched(PRIMARY)
        self._run.failing |= self._gate.activity.failed(self._current).keys()
        if number == 0:
            self._run.watches = frozenset(self._gate.watched(PRIMARY))

    async def _settle(self) -> None:
        """Wait until the process is idle; restart it when it was killed, and hand over when a write is delayed."""
        while True:
            self._gate.activity.begin_wait(self._current)
            subjects = self._instances.subjects(self._current)
            wait = await wait_until_idle(
                self._gate,
                subjects,
                self._patience(),
                ready=self._is_ready,
                # The processor time of polling cannot be told from that of work.
                longer=self._longer_silence,
                counts_time=not self._setting.background,
                interrupted=lambda: self._crashed or self._delayed is not None or self._is_stuck(),
            )
            rest = wait.rest
            if not self._fresh:
                self._run.longest_wait = max(self._run.longest_wait, wait.longest_silence)
            if rest is Rest.INTERRUPTED:
                if self._crashed:
                    self._crashed = False
                    await self._stop()
                    await self._start(PRIMARY)
                    continue
                if self._delayed is not None:
                    await self._hand_over()
                    continue
                rest = Rest.IDLE
            self._run.rest = rest
            self._run.working = wait.working
            self._run.unready = rest is Rest.BUSY and not self._instances.is_ready(self._current)
            ended = next((process for process in subjects.values() if process.exited), self._instances[self._current])
            if rest is Rest.EXITED and ended.name == self._current and self._gives_up_its_start():
                await self._start_again()
                continue
            self._fresh = False
            if rest is Rest.IDLE:
                self._decisions.end_repetitions()
            if rest is Rest.IDLE and self._slow:
                self._slow.pop(0)()
                continue
            if rest is Rest.IDLE and self._gate.doomed and self._current == PRIMARY:
                self.crash()
                continue
            if rest is Rest.IDLE and self._user.is_refused and self._holds.end_all():
                continue
            if rest is Rest.IDLE and self._user.repeat():
                continue
            if rest is Rest.IDLE:
                return
            if rest is Rest.EXITED:
                self._note_exit(ended)
            self._run.silent = not any(True for _ in self._gate.log.requests())
            raise _Over

    def _gives_up_its_start(self) -> bool:
        """Return whether the process has ended as it started, for the first time, because of an injected failure.

        Commands are written so: whatever supervises them starts them again. What they do then is judged.
        """
        failures = {str(each) for each in self._plan.perturbations if isinstance(each, Fail | LoseResponse)}
        injected = any(
            request.perturbed in failures for request in self._gate.log.requests() if request.process == self._current
        )
        return self._fresh and injected and not self._started_again

    async def _start_again(self) -> None:
        name, self._started_again = self._current, True
        code = self._instances[name].code
        self._instances.note(name, "exit", f"{name} ends while it starts (code {code}), and is started again")
        await self._instances.kill(name)
        await self._start(name)

    def _is_stuck(self) -> bool:
        """Return whether the process can only repeat a call in vain until it receives what is held back from it."""
        lacks_events = self._current == PRIMARY and self._gate.undelivered() > 0
        return lacks_events and self._gate.activity.is_stuck(PRIMARY, _IN_VAIN, self._setting.retry_silence)

    def _patience(self) -> Patience:
        silence = self._setting.patience.silence
        if self._fresh:
            silence = max(silence, _AFTER_START)
        return replace(self._setting.patience, silence=silence)

    def _longer_silence(self) -> float:
        """The silence to wait for now, where it is longer than the patience."""
        return max(self._setting.last_silence if self._user.is_done else 0.0, self._retry_silence())

    def _retry_silence(self) -> float:
        """The silence of a process that may be about to repeat a call."""
        gaps = [
            gap for call, gap in self._gate.activity.failed(self._current).items() if call not in self._setting.failing
        ]
        if not gaps:
            return 0.0
        if self._user.is_done and self._holds.are_over and not self._gate.rewound:
            # Nothing else will happen. A backoff doubles the time from one attempt to the next.
            return max(self._setting.retry_silence, min(_BACKOFF * max(gaps), _LONGEST_BACKOFF))
        return self._setting.retry_silence

    def _is_ready(self) -> bool:
        if self._current not in self._gate.activity.heard or self._user.waits:
            return False
        if self._slow:
            return True  # it may wait for its write before it watches, comes round or becomes ready
        if not self._setting.watches <= self._gate.watched(self._current):
            return False
        if self._setting.background and self._gate.activity.rounds(self._current) < _ROUNDS:
            return False
        return self._instances.is_ready(self._current)

    # Processes

    async def _start(self, name: str) -> None:
        self._fresh = True
        await self._instances.start(name)

    async def _stop(self) -> None:
        """Kill the primary instance."""
        self._slow.clear()  # they die with their process
        await self._instances.kill(PRIMARY)

    def _note_exit(self, process: Process) -> None:
        code = process.code if process.code is not None else 0
        tail = process.output.last_lines()
        self._run.port_taken = _PORT_TAKEN in tail.lower()
        if process.name == SECOND and self._run.port_taken:
            self._run.blocked = (
                "two instances cannot run at the same time: the command binds a fixed port; "
                "put {port} in its place, or switch the listener off"
            )
            return
        self._run.exits.append(Exit(process.name, code, tail))

    async def _hand_over(self) -> None:
        """Let another instance take over while a write of the first one is delayed, then let that write arrive."""
        release, self._delayed = self._delayed, None
        plan = next(perturbation for perturbation in self._plan.perturbations if isinstance(perturbation, HandOver))
        first = self._instances[PRIMARY]
        first.pause()
        self._instances.note(PRIMARY, "pause", f"{PRIMARY} is paused with {plan.at.call} in flight")
        self._instances.expire_leases()
        self._current = SECOND
        await self._start(SECOND)
        await self._settle()
        for _ in range(plan.actions):
            if not self._user.is_done:
                self._user.act_until(self._gate.action + 1)
                await self._settle()
        self._instances.note(PRIMARY, "resume", f"the delayed {plan.at.call} of {PRIMARY} arrives")
        if release is not None:
            release()
        await asyncio.sleep(0)
        await first.kill()
        self._gate.forget_process(PRIMARY)

    # The conductor of the gate

    def crash(self) -> None:
        """Kill the primary instance, now."""
        self._instances[PRIMARY].kill_now()
        self._crashed = True

    def act(self, *, unseen: bool) -> None:
        """Take the next action of the user, now."""
        if self._user.is_done:
            return
        number = self._gate.action + 1
        resource = self._user.resource(number) if unseen else ""
        if resource:
            self._holds.hide(resource)
        self._user.act_until(number)

    def written(self, request: Request) -> None:
        """Count a write of the primary instance: holds may end with it."""
        if request.process == PRIMARY:
            self._holds.count_write()

    def delayed(self, release: Callable[[], None], *, hand_over: bool) -> None:
        """Note that a write of the primary instance waits: for another instance, or until this one is idle."""
        if hand_over:
            self._delayed = release
        else:
            self._slow.append(release)

    # Older lists

    async def _skip(self, skip: Skip) -> None:
        self._gate.hold(skip.resource)
        self._user.act_until(skip.last)
        await asyncio.sleep(0)
        if self._gate.expire(skip.resource):
            self._instances.note(PRIMARY, "relist", f"the watch of {skip.resource} expires, {PRIMARY} lists again")

    async def _rewind(self, rewind: Rewind) -> None:
        """Restart the process onto an older list, let it work with that, then let it catch up."""
        state = self._server.state
        changes = state.changes_since(0 if state.floor == 0 else state.floor, rewind.resource)
        if len(changes) < rewind.events:
            return
        version = changes[-rewind.events].resource_version - 1
        objects = state.objects_at(rewind.resource, version)
        older = state.replace(kinds=state.kinds.insert(rewind.resource, objects), resource_version=version)
        self._gate.rewound = {rewind.resource: older}
        await self._stop()
        self._gate.hold(rewind.resource)
        await self._start(PRIMARY)
        await self._settle()
        self._gate.rewound = {}
        if self._gate.release(rewind.resource):
            await self._settle()


async def carry_out(setting: Setting, plan: Plan) -> Run:
    """Carry out one run."""
    return await Runner(setting, plan).run()
