"""Two reconciles of one object in close succession, both see no plan: exactly one plan, and the other observes it.

It holds with optimistic concurrency. It must fail with a plain merge patch and with server-side apply by one manager,
or it would prove nothing. In process, and over HTTP with two processes; ``KONTEND_TEST_SERVER`` (and
``KONTEND_TEST_TOKEN``) name a real cluster to try it on as well.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import coroutine
from typing import Any

import pytest

from kontend.kube.errors import AlreadyExists, ApiError
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.client.kubeconfig import Config
from kontend.runtime.controller import Request
from runtime import planner
from runtime.planner import APPLY, LOCKED, MERGE
from runtime.samples import GADGET, GADGETS, cluster, gadget

Race = Callable[[str], tuple[list[str], set[str]]]


def exactly_one_plan(outcomes: list[str], plans: set[str]) -> bool:
    """The acceptance: of two reconciles one creates, the other observes, and one plan ever existed."""
    return sorted(outcomes) == ["created", "observed"] and len(plans) == 1


# In process: every call of a reconcile is a place where it can be stopped, so the worst order can be chosen.


class Stepwise(InProcess):
    """Stops at every call and lets the test go on."""

    @coroutine
    def call(self, call: Call) -> Generator[Call, None, Any]:
        """Wait to be resumed, then answer."""
        yield call
        return self.answer(call)


def go_on(reconcile: Coroutine[Any, Any, str]) -> Call | str:
    """Up to the next call, or to the end."""
    try:
        call: Call = reconcile.send(None)
    except StopIteration as stop:
        outcome: str = stop.value
        return outcome
    return call


def in_process(way: str) -> tuple[list[str], set[str]]:
    """Both read, then the first writes, then the second."""
    world = cluster(gadget("g"))
    since = world.resource_version
    reconciles = [
        planner.reconcile(Request("default", "g"), Api(Stepwise(world)), way=way, plan=f"plan-{name}") for name in "ab"
    ]
    for reconcile in reconciles:
        stopped = go_on(reconcile)
        assert isinstance(stopped, Call)
        assert stopped.verb == "get"
    for reconcile in reconciles:
        stopped = go_on(reconcile)
        assert isinstance(stopped, Call)
        assert stopped.verb == "patch"
    outcomes = []
    for reconcile in reconciles:
        while isinstance(stopped := go_on(reconcile), Call):
            pass
        outcomes.append(stopped)
    return outcomes, plans_in(world.watch(GADGET, since=since))


def plans_in(events: list[dict[str, Any]]) -> set[str]:
    """The plans that any version of the object ever had."""
    return {event["object"]["status"]["plan"]["id"] for event in events if "status" in event["object"]}


# Over HTTP: two processes that write once both have read.


@contextmanager
def server() -> Iterator[tuple[str, str]]:
    """The URL and the token of a server to race on: the one that is named, or one of our own."""
    if os.environ.get("KONTEND_TEST_SERVER"):
        yield os.environ["KONTEND_TEST_SERVER"], os.environ.get("KONTEND_TEST_TOKEN", "")
        return
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "kontend", "serve", "--port", "0", "--ready-fd", str(writing)]
    process = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as ready:
            yield ready.readline().strip(), ""
    finally:
        process.terminate()
        process.wait()


async def prepare(url: str, token: str) -> str:
    """A gadget without a plan; the version from which to look for plans."""
    backend = HttpBackend(Config(url, token=token, insecure=True))
    api = Api(backend)
    with suppress(AlreadyExists):
        await api.create({**GADGETS})
    deadline = time.monotonic() + 20
    while True:  # a definition is served a moment after it was created
        try:
            await api.delete_all_of(GADGET, namespace="default")
            break
        except ApiError:
            assert time.monotonic() < deadline
    obj = gadget("g")
    await api.create(obj)
    backend.close()
    version: str = obj["metadata"]["resourceVersion"]
    return version


async def plans_since(url: str, token: str, version: str) -> set[str]:
    backend = HttpBackend(Config(url, token=token, insecure=True))
    last = (await Api(backend).live.get(GADGET, "default/g"))["metadata"]["resourceVersion"]
    plans = set()
    async for _, obj in backend.watch(GADGET, int(version), idle=20):
        plans |= plans_in([{"object": obj}])
        if obj["metadata"]["resourceVersion"] == last:
            break
    backend.close()
    return plans


def two_processes(way: str) -> tuple[list[str], set[str]]:
    """Two processes reconcile the same object at the same time."""
    with server() as (url, token):
        version = asyncio.run(prepare(url, token))
        command = [sys.executable, "-m", "runtime.planner", url, token, way]
        tests = Path(__file__).parent.parent
        processes = [
            subprocess.Popen([*command, f"plan-{name}"], cwd=tests, text=True, stdin=-1, stdout=-1) for name in "ab"
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "saw no plan\n"
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            outcomes = [process.communicate(timeout=20)[0].strip() for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return outcomes, asyncio.run(plans_since(url, token, version))


@pytest.mark.parametrize("race", [in_process, two_processes])
def test_with_optimistic_concurrency_one_creates_the_plan_and_the_other_observes_it(race: Race) -> None:
    assert exactly_one_plan(*race(LOCKED))


@pytest.mark.parametrize("race", [in_process, two_processes])
@pytest.mark.parametrize("way", [MERGE, APPLY])
def test_without_it_both_create_one_and_the_first_is_lost_in_silence(race: Race, way: str) -> None:
    outcomes, plans = race(way)
    assert not exactly_one_plan(outcomes, plans)
    assert outcomes == ["created", "created"]
    assert plans == {"plan-a", "plan-b"}
