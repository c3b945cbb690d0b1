"""Asyncio in a reconcile: concurrent calls, virtual time, and everything that leaves the process is refused."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import BadScenario, Bounds, Scenario, Verdict, check
from kontend.explore.program.driven import Start
from kontend.explore.program.run import PythonRun
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

HERE = Path(__file__).name
MAP = "ConfigMap/v1"
Body = Callable[[Api], Awaitable[str]]


class Does(Controller):
    """Runs a coroutine and stores its result in a config map."""

    kind = KIND

    def __init__(self, body: Body) -> None:
        self.body = body

    async def reconcile(self, request: Request, api: Api) -> None:
        """Run, and store the result."""
        await api.get(self.kind, request)
        text = await self.body(api)
        metadata = {"name": "result", "namespace": "default"}
        with contextlib.suppress(AlreadyExists):
            await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}})


def _explored(body: Body) -> Verdict:
    bounds = Bounds(faults=0, lag=0, states=5_000)
    return check(Scenario([Does(body)], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED))


def _results(body: Body) -> set[str]:
    verdict = _explored(body)
    assert verdict.exhausted
    assert verdict.violations == []
    return {str(Cluster(state=state).get(MAP, "result")["data"]["text"]) for state in verdict.final_states}


def _refused(body: Body) -> str:
    with pytest.raises(BadScenario) as caught:
        _explored(body)
    return str(caught.value)


def _line(mark: str) -> str:
    lines = Path(__file__).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(mark)]
    return f"{HERE}:{number}"


async def _create(api: Api, name: str) -> str:
    """Create a config map, and return the names of all that exist then."""
    await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    return "".join(item["metadata"]["name"] for item in await api.live.list(MAP, namespace="default"))


# Concurrent calls


async def _gathered(api: Api) -> str:
    return " ".join(await asyncio.gather(_create(api, "a"), _create(api, "b")))


async def _grouped(api: Api) -> str:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_create(api, name)) for name in "ab"]
    return " ".join(task.result() for task in tasks)


async def _as_tasks(api: Api) -> str:
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(_create(api, "a")), asyncio.create_task(_create(api, "b"))]
    return " ".join([await task for task in tasks])


async def _completed(api: Api) -> str:
    tasks = [asyncio.create_task(_create(api, name)) for name in "ab"]
    await asyncio.wait(tasks)
    return " ".join(task.result() for task in tasks)


@pytest.mark.parametrize("body", [_gathered, _grouped, _as_tasks, _completed])
def test_the_calls_of_concurrent_tasks_are_made_in_every_order(body: Body) -> None:
    assert _results(body) == {"a ab", "ab b", "ab ab"}


async def _first_response(api: Api) -> str:
    """The name of the task that is responded to first."""
    done, pending = await asyncio.wait(
        [asyncio.create_task(_create(api, name), name=name) for name in "ab"], return_when=asyncio.FIRST_COMPLETED
    )
    for task in pending:
        task.cancel()
    return "".join(sorted(task.get_name() for task in done))


def test_the_first_of_several_tasks_can_be_any_of_them() -> None:
    assert _results(_first_response) == {"a", "b"}


async def _fails_in_gather(api: Api) -> str:
    results = await asyncio.gather(api.get(MAP, "default/nothing"), _create(api, "a"), return_exceptions=True)
    return " ".join(result if isinstance(result, str) else type(result).__name__ for result in results)


def test_gather_returns_exceptions() -> None:
    assert _results(_fails_in_gather) == {"NotFound a"}


async def _fails_in_group(api: Api) -> str:
    result = "never"
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(api.live.get(MAP, "default/nothing"))
            group.create_task(_create(api, "a"))
    except* NotFound:
        result = "failed"
    return result


def test_a_task_group_cancels_the_calls_of_its_other_tasks() -> None:
    verdict = _explored(_fails_in_group)
    assert verdict.exhausted
    names = {
        tuple(sorted(item["metadata"]["name"] for item in Cluster(state=state).list(MAP)))
        for state in verdict.final_states
    }
    # The other task's call was made before the failure, or is not made at all.
    assert names == {("a", "result"), ("result",)}


def test_pending_calls_are_listed_in_the_order_in_which_they_were_made() -> None:
    run = PythonRun(Does(_gathered), Guards(), lambda _: True, Start(Key("default", "w"), b"{}", ""))
    run.respond(0, b"={}")
    progress = run.progress()
    assert [(call.verb, call.kind) for call in progress.calls] == [("create", MAP), ("create", MAP)]
    assert [line.short.partition(":")[0] for line in progress.lines] == [HERE, HERE]
    run.respond(1, b'={"metadata":{"name":"b"}}')
    assert [call.verb for call in run.progress().calls] == ["create", "list"]
    run.close()


# Virtual time


async def _sleeps_in_order(api: Api) -> str:
    del api
    order: list[str] = []

    async def after(delay: float, name: str) -> None:
        await asyncio.sleep(delay)
        order.append(name)

    await asyncio.gather(after(30, "c"), after(0.1, "b"), after(0, "a"), after(30, "d"))
    return "".join(order)


def test_sleeps_end_in_the_order_of_their_delays_and_take_no_time() -> None:
    started = time.perf_counter()
    assert _results(_sleeps_in_order) == {"abcd"}
    assert time.perf_counter() - started < 25


async def _loop_time(api: Api) -> str:
    del api
    loop = asyncio.get_running_loop()
    before = loop.time()
    await asyncio.sleep(90)
    return str(loop.time() - before)


def test_the_time_of_the_loop_is_virtual() -> None:
    assert _results(_loop_time) == {"90.0"}


async def _wait_for_a_call(api: Api) -> str:
    return await asyncio.wait_for(_create(api, "a"), timeout=0.001)


async def _timeout_around_a_call(api: Api) -> str:
    async with asyncio.timeout(0.001):
        return await _create(api, "a")


@pytest.mark.parametrize("body", [_wait_for_a_call, _timeout_around_a_call])
def test_a_timeout_does_not_fire_while_a_call_is_pending(body: Body) -> None:
    assert _results(body) == {"a"}


async def _wait_for_a_sleep(api: Api) -> str:
    del api
    try:
        await asyncio.wait_for(asyncio.sleep(10), timeout=5)
    except TimeoutError:
        return f"timed out at {asyncio.get_running_loop().time()}"
    return "never"


async def _timeout_around_a_sleep(api: Api) -> str:
    del api
    try:
        async with asyncio.timeout(5):
            await asyncio.Event().wait()
    except TimeoutError:
        return f"timed out at {asyncio.get_running_loop().time()}"
    return "never"


@pytest.mark.parametrize("body", [_wait_for_a_sleep, _timeout_around_a_sleep])
def test_a_timeout_fires_where_nothing_else_can_happen(body: Body) -> None:
    assert _results(body) == {"timed out at 5.0"}


async def _locked(api: Api) -> str:
    lock, queue = asyncio.Lock(), asyncio.Queue[str]()

    async def put(name: str) -> None:
        async with lock:
            await queue.put(await _create(api, name))

    await asyncio.gather(put("a"), put("b"))
    return f"{queue.get_nowait()} {queue.get_nowait()}"


def test_locks_and_queues_work() -> None:
    assert _results(_locked) == {"a ab"}


# Refusals


async def _to_thread(api: Api) -> str:
    del api
    return str(await asyncio.to_thread(len, "abc"))  # to_thread


async def _in_executor(api: Api) -> str:
    del api
    with ThreadPoolExecutor() as pool:
        return str(await asyncio.get_running_loop().run_in_executor(pool, len, "abc"))  # run_in_executor


async def _connects(api: Api) -> str:
    del api
    await asyncio.open_connection("127.0.0.1", 9)  # create_connection
    return ""


async def _reads_socket(api: Api) -> str:
    del api
    one, two = socket.socketpair()
    with one, two:
        await asyncio.get_running_loop().sock_recv(one, 1)  # sock_recv
    return ""


async def _runs_a_process(api: Api) -> str:
    del api
    await asyncio.create_subprocess_exec(sys.executable, "-V")  # subprocess_exec
    return ""


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (_to_thread, "run_in_executor"),
        (_in_executor, "run_in_executor"),
        (_connects, "create_connection"),
        (_reads_socket, "sock_recv"),
        (_runs_a_process, "subprocess_exec"),
    ],
)
def test_what_leaves_the_process_is_refused_with_the_line(body: Body, name: str) -> None:
    mark = "# to_thread" if body is _to_thread else f"# {name}"
    assert _refused(body) == (
        f"{_line(mark)}: a reconcile used the event loop's {name}(), which cannot be explored: only calls of its api, "
        "asyncio.sleep, wait_for, timeout, gather, create_task and TaskGroup can"
    )


async def _swallows(api: Api) -> str:
    try:
        return await _to_thread(api)
    except BaseException:
        return "swallowed"


def test_a_refusal_cannot_be_swallowed() -> None:
    assert "a reconcile used the event loop's run_in_executor()" in _refused(_swallows)


async def _waits_forever(api: Api) -> str:
    del api
    await asyncio.Event().wait()  # waits forever
    return "never"


def test_a_reconcile_that_waits_forever_is_refused_with_the_line() -> None:
    assert _refused(_waits_forever) == (
        f"{_line('# waits forever')}: does: the reconcile waits for something that never happens; it may only await "
        "calls of its api, asyncio.sleep, wait_for, timeout, gather and TaskGroup"
    )


async def _spins(api: Api) -> str:
    del api
    while True:
        await asyncio.sleep(1)


def test_a_reconcile_that_polls_without_a_call_is_refused() -> None:
    assert "a reconcile ran 100,000 callbacks without an API call; does it wait in a loop?" in _refused(_spins)


async def _exits(api: Api) -> str:
    del api
    sys.exit(3)  # exits


def test_a_reconcile_that_exits_is_refused_with_the_line() -> None:
    assert _refused(_exits) == f"{_line('# exits')}: does: the reconcile raised SystemExit"


async def _is_cancelled(api: Api) -> str:
    del api
    raise asyncio.CancelledError


def test_a_cancelled_error_that_leaves_the_reconcile_is_refused() -> None:
    assert _refused(_is_cancelled) == "does: asyncio.CancelledError left the reconcile; catch it"


async def _cancels_a_task(api: Api) -> str:
    task = asyncio.create_task(_create(api, "a"))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return "cancelled"
    return "never"


def test_a_cancelled_error_of_a_task_can_be_caught() -> None:
    assert _results(_cancels_a_task) == {"cancelled"}


class Forgets(Controller):
    """Starts a task and does not wait for it."""

    kind = KIND
    tasks: Any = None

    async def reconcile(self, request: Request, api: Api) -> None:
        """Start a task that writes."""
        widget = await api.get(self.kind, request)
        task = asyncio.create_task(api.status.patch(widget, merge_patch({"status": {"done": True}})))
        await asyncio.sleep(0)
        del task


def test_a_task_that_is_still_pending_at_the_end_makes_its_call() -> None:
    """The call was made when the reconcile returned; asyncio would still wait for its response."""
    verdict = check(
        Scenario([Forgets()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)
    )
    (final,) = verdict.final_states
    assert Cluster(state=final).get(KIND, "w")["status"] == {"done": True}
