"""A coroutine that a reconcile never awaits is an error with its file and line, in every backend."""

from __future__ import annotations

import asyncio
import copy
import inspect
import warnings
from typing import Any

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, check
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import BadController, Controller, Request
from kontend.runtime.manager.controller_loop import Loop
from kontend.runtime.manager.in_process import InProcessManager, Unsettled, settle
from kontend.runtime.telemetry.metrics import Metrics
from kontend.runtime.unawaited import collect_unawaited
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.status import mutate_status
from runtime.wire import wired

# What is tested is that nothing is awaited.
# mypy: disable-error-code="unused-coroutine"


class Forgetful(Controller):
    """Reads its widget and then forgets an await."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        await self.forget(await api.get(self.kind, request), api)

    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        raise NotImplementedError


class Patches(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        base = copy.deepcopy(obj)
        obj["spec"] = {"size": 9}
        api.patch(obj, merge_from(base))  # the line


class PatchesStatus(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        api.status.update(obj)  # the line


class ReadsLive(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        fresh = api.live.get(self.kind, obj["metadata"]["name"])  # the line
        assert fresh is not None


class MutatesStatus(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        mutate_status(api, obj, lambda stored: stored["status"].update(phase="Ready"))  # the line


class Flushes(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        async with StatusScope(api, obj) as scope:
            scope.flush()  # the line


class CallsItself(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        self.helper(obj, api)  # the line

    async def helper(self, obj: dict[str, Any], api: Api) -> None:
        await api.update(obj)


class GoesOn(Forgetful):
    """Makes more calls after the one that was forgotten."""

    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        api.delete(obj)  # the line
        await api.live.get(self.kind, "default/w")
        await api.update(obj)


ALL = [Patches, PatchesStatus, ReadsLive, MutatesStatus, Flushes, CallsItself, GoesOn]


def line_of(cls: type) -> str:
    lines, first = inspect.getsourcelines(cls)
    return f"test_unawaited.py:{next(first + index for index, line in enumerate(lines) if '# the line' in line)}"


def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[widget()])


@pytest.mark.parametrize("controller", ALL)
def test_in_a_unit_test(controller: type[Forgetful]) -> None:
    with pytest.raises(Unsettled, match="was never awaited, so it did nothing") as raised:
        settle(cluster(), controller())
    assert f"{line_of(controller)}: " in str(raised.value)
    assert isinstance(raised.value.__cause__, BadController)


@pytest.mark.parametrize("controller", ALL)
def test_in_the_explorer(controller: type[Forgetful]) -> None:
    scenario = Scenario(
        controllers=[controller()], crds=[definition()], objects=[widget()], bounds=Bounds(faults=0, lag=1)
    )
    with pytest.raises(BadController, match="was never awaited, so it did nothing") as raised:
        check(scenario)
    assert f"{line_of(controller)}: " in str(raised.value)


@pytest.mark.parametrize("controller", ALL)
def test_in_a_manager(controller: type[Forgetful]) -> None:
    """Both managers run this loop, the one over HTTP on an event loop."""

    async def one() -> Exception | None:
        return (await loop.run(Request("default", "w"))).error

    api, _ = wired(cluster())
    loop = Loop(controller(), api, lambda: 0.0, Metrics())
    loop.queue.add(Request("default", "w"))
    loop.queue.take()
    error = asyncio.run(one())
    assert isinstance(error, BadController)
    assert f"{line_of(controller)}: " in str(error)


def test_the_message_shows_the_call() -> None:
    manager = InProcessManager(cluster(), [Patches()])
    outcome = manager.step()
    assert outcome is not None
    assert str(outcome.error).endswith(
        "Api.patch() was never awaited, so it did nothing; write 'await' before the call: "
        "api.patch(obj, merge_from(base))  # the line"
    )


class Breaks(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        api.delete(obj)  # the line
        raise KeyError("spec")


def test_the_error_of_a_reconcile_comes_first_and_has_a_note() -> None:
    outcome = InProcessManager(cluster(), [Breaks()]).step()
    assert outcome is not None
    assert isinstance(outcome.error, KeyError)
    assert line_of(Breaks) in outcome.error.__notes__[0]


class UsesCoroutine(Forgetful):
    async def forget(self, obj: dict[str, Any], api: Api) -> None:
        fresh: Any = api.live.get(self.kind, obj["metadata"]["name"])  # the line
        assert fresh["metadata"]


def test_an_error_that_comes_from_the_coroutine_has_a_note_too() -> None:
    outcome = InProcessManager(cluster(), [UsesCoroutine()]).step()
    assert outcome is not None
    assert isinstance(outcome.error, TypeError)
    assert len(outcome.error.__notes__) == 1
    assert line_of(UsesCoroutine) in outcome.error.__notes__[0]


class Gathers(Controller):
    """Awaits its coroutines later than it creates them."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        pending = api.get(self.kind, request)
        obj = await api.live.get(self.kind, request)
        assert (await pending)["metadata"]["uid"] == obj["metadata"]["uid"]


def test_a_coroutine_that_is_awaited_later_is_fine() -> None:
    assert settle(cluster(), Gathers()) == 1
    scenario = Scenario(controllers=[Gathers()], crds=[definition()], objects=[widget()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(scenario).ok


def test_concurrent_reconciles_have_reports_of_their_own() -> None:
    async def forgets(started: asyncio.Event) -> list[str]:
        with collect_unawaited() as reports:
            started.set()
            asyncio.sleep(0)
            await asyncio.sleep(0)
        return reports

    async def remembers(started: asyncio.Event) -> list[str]:
        with collect_unawaited() as reports:
            await started.wait()
            await asyncio.sleep(0)
        return reports

    async def both() -> tuple[list[str], list[str]]:
        started = asyncio.Event()
        return await asyncio.gather(remembers(started), forgets(started))

    without, with_one = asyncio.run(both())
    assert without == []
    assert len(with_one) == 1


def test_outside_a_reconcile_python_warns_as_ever() -> None:
    with collect_unawaited():
        pass
    with pytest.warns(RuntimeWarning, match="coroutine 'sleep' was never awaited"):
        asyncio.sleep(0)
