"""Reconciles that wait in a loop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend import Api, Controller, Request
from kontend.explore import BadScenario, Bounds, Scenario, check, never


class Waits(Controller):
    """Waits until a widget is large."""

    kind = KIND
    reads_live = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look until it is."""
        reads = api.live if self.reads_live else api
        while (await reads.get(self.kind, request))["spec"].get("size", 0) < 99:
            pass


class WaitsLive(Waits):
    """Asks the server."""

    reads_live = True


class WaitsAMinute(Controller):
    """Gives up after a minute."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look every five seconds."""
        begun = _time(api)
        while (widget := await api.live.get(self.kind, request))["spec"].get("size", 0) < 99:
            if (_time(api) - begun).seconds >= 60:
                widget["status"] = {"phase": "GaveUp"}
                await api.status.update(widget)
                return
            await asyncio.sleep(5)


def _time(api: Api) -> datetime:
    return datetime.fromisoformat(api.now().replace("Z", "+00:00"))


def _scenario(controller: Controller) -> Scenario:
    return Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0))


@pytest.mark.parametrize("controller", [Waits(), WaitsLive()])
def test_a_reconcile_that_polls_without_end_is_refused_with_the_line(controller: Controller) -> None:
    with pytest.raises(BadScenario) as caught:
        check(_scenario(controller))
    assert "test_polling.py:" in str(caught.value)
    assert "return Result(requeue_after=...)" in str(caught.value)


def test_time_passes_while_a_reconcile_sleeps() -> None:
    scenario = _scenario(WaitsAMinute())
    given_up = never(lambda cluster: bool(cluster.get(KIND, "w").get("status")), name="given up")
    assert check(scenario).final_states
    verdict = check(replace(scenario, properties=[given_up]))
    assert [violation.property for violation in verdict.violations] == ["given up"]
