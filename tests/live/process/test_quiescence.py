"""Idle processes: decided by requests and by processor time, on a loaded machine too."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable

import pytest

from kontend.live.process import processes
from kontend.live.process.processes import Usage
from kontend.live.process.quiescence import Patience, Rest, Wait, wait_until_idle

pytestmark = pytest.mark.skipif(not processes.can_see_processes(), reason="the system shows no processor time")
PATIENCE = Patience(0.06, 0.6)


class Traffic:
    """No requests at all."""

    def __init__(self) -> None:
        self.last_activity: dict[str, float] = {}

    def in_progress(self, process: str) -> int:
        del process
        return 0


class Subject:
    """A process whose usage at each poll is a function of the number of polls."""

    exited = False

    def __init__(self, usage: Callable[[int], Usage]) -> None:
        self._usage = usage
        self.polls = 0

    def usage(self) -> Usage:
        self.polls += 1
        return self._usage(self.polls)


def wait(usage: Callable[[int], Usage]) -> tuple[Wait, int]:
    subject = Subject(usage)
    found = asyncio.run(wait_until_idle(Traffic(), {"controller": subject}, PATIENCE))
    return found, subject.polls


def test_a_process_without_requests_and_processor_time_is_idle() -> None:
    found, polls = wait(lambda _: Usage(1.0, 1.0))
    assert found.rest is Rest.IDLE
    assert polls >= 3  # more, unless this process comes late


def test_a_process_that_uses_processor_time_is_not_idle() -> None:
    found, _ = wait(lambda polls: Usage(polls * 0.5))
    assert found.rest is Rest.BUSY
    assert found.working


def test_a_process_that_waits_for_a_processor_is_not_idle_however_long_it_is_silent() -> None:
    found, _ = wait(lambda _: Usage(1.0, 1.0, running=True))
    assert found.rest is Rest.BUSY


def test_a_process_that_gets_a_processor_only_between_two_looks_is_not_idle() -> None:
    """It never looks as if it were running, and uses next to no time: but it has waited all the while."""
    found, _ = wait(lambda polls: Usage(1.0 + polls * 1e-5, polls * 1.0))
    assert found.rest is Rest.BUSY


def test_the_limit_leaves_more_time_to_a_process_that_waits_for_a_processor() -> None:
    began = time.monotonic()
    found, _ = wait(lambda polls: Usage(polls * 0.5, polls * 1.0))
    assert found.rest is Rest.BUSY
    assert time.monotonic() - began >= 3 * PATIENCE.limit


def test_late_polls_count_in_full_when_the_process_has_slept_all_the_while() -> None:
    """On a loaded machine this process comes late; the time is silence nevertheless, but not in one go."""

    def late(_: int) -> Usage:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass
        return Usage(1.0, 1.0)

    began = time.monotonic()
    found, polls = wait(late)
    assert found.rest is Rest.IDLE
    assert 3 <= polls <= 5
    assert time.monotonic() - began >= PATIENCE.silence


def test_a_process_that_wakes_now_and_then_is_silent_for_longer_before_it_counts_as_idle() -> None:
    began = time.monotonic()
    found, _ = wait(lambda polls: Usage(1.0 + polls * 1e-4, slices=polls))
    assert found.rest is Rest.IDLE
    assert time.monotonic() - began >= 3 * PATIENCE.silence


def test_a_request_that_has_not_been_read_yet_is_not_silence() -> None:
    """On a loaded machine each turn of the loop takes long, and a request takes several turns to arrive."""

    async def work() -> tuple[Wait, float, float]:
        loop, traffic = asyncio.get_running_loop(), Traffic()

        def turn(left: int) -> None:
            time.sleep(0.03)  # this process has no processor
            if left:
                loop.call_soon(turn, left - 1)
            else:
                traffic.last_activity["controller"] = loop.time()

        loop.call_soon(turn, 8)
        found = await wait_until_idle(traffic, {"controller": Subject(lambda _: Usage(1.0, 1.0))}, PATIENCE)
        return found, traffic.last_activity.get("controller", math.inf), loop.time()

    found, arrived, ended = asyncio.run(work())
    assert found.rest is Rest.IDLE
    assert ended - arrived >= PATIENCE.silence


def test_a_process_that_may_repeat_a_call_is_silent_for_longer_before_it_counts_as_idle() -> None:
    began = time.monotonic()
    subjects = {"controller": Subject(lambda _: Usage(1.0, 1.0))}
    found = asyncio.run(wait_until_idle(Traffic(), subjects, PATIENCE, longer=lambda: 0.2))
    assert found.rest is Rest.IDLE
    assert time.monotonic() - began >= 0.2


def test_timers_of_a_runtime_do_not_count_as_work() -> None:
    found, _ = wait(lambda polls: Usage(1.0 + polls * 1e-4, polls * 1e-5))
    assert found.rest is Rest.IDLE


def test_the_usage_of_a_process_includes_its_children() -> None:
    async def usages() -> tuple[list[int], Usage]:
        script = "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; exec sleep 600' & wait"
        started = await asyncio.create_subprocess_exec(
            "sh", "-c", script, start_new_session=True, stdout=asyncio.subprocess.PIPE
        )
        assert started.stdout is not None
        await started.stdout.readline()
        found = processes.with_children([started.pid])
        assert sorted(found) == sorted(processes.in_session(started.pid))
        both, parent = processes.usage(found), processes.usage([started.pid])
        os.killpg(started.pid, 9)
        await started.wait()
        return found, Usage(both.seconds - parent.seconds)

    found, children = asyncio.run(usages())
    assert len(found) == 2
    assert children.seconds > 0.001
