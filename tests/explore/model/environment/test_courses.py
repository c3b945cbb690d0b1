"""Deadlines: a clock goes on as long as a reconcile would do something else later."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from definitions import definition
from kontend import Api, Cluster, Controller, Request, Result
from kontend.explore import Bounds, Reductions, Scenario, check, eventually, never
from kontend.explore.model.environment import timers

WIDGET = "Widget.example.com/v1"
OBJECT: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def gives_up(after: int, *, stamps: bool = False) -> Controller:
    """A controller that looks again every minute and gives up some time after it has begun."""

    class Polls(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            """Look again."""
            widget = await api.live.get(self.kind, request)
            status = widget.get("status") or {}
            if status.get("phase") == "GaveUp":
                return None
            begun = status.get("begun")
            if begun and _seconds(api.now()) - _seconds(begun) >= after:
                widget["status"] = {**status, "phase": "GaveUp"}
                await api.status.update(widget)
                return None
            if not begun or stamps:
                widget["status"] = {"begun": begun or api.now(), **({"last": api.now()} if stamps else {})}
                await api.status.update(widget)
            return Result(requeue_after=60)

    return Polls()


def has_given_up(cluster: Cluster) -> bool:
    """The controller has given up."""
    return bool((cluster.get(WIDGET, "w").get("status") or {}).get("phase") == "GaveUp")


def _scenario(controller: Controller, **changes: Any) -> Scenario:
    return Scenario(
        controllers=[controller],
        crds=[definition("Widget")],
        objects=[OBJECT],
        bounds=Bounds(lag=0, faults=0),
        **changes,
    )


@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("reductions", [Reductions(), Reductions.none()])
def test_a_deadline_of_five_periods_is_reached(stamps: bool, reductions: Reductions) -> None:
    controller = gives_up(300, stamps=stamps)
    verdict = check(_scenario(controller, properties=[never(has_given_up)], reductions=reductions))
    assert verdict.exhausted
    assert [violation.property for violation in verdict.violations] == ["has_given_up"]
    assert check(_scenario(controller, properties=[eventually(has_given_up)], reductions=reductions))


def test_a_deadline_beyond_the_bound_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "MOST_PERIODS", 5)
    verdict = check(_scenario(gives_up(60_000), properties=[never(has_given_up)]))
    assert (verdict.ok, verdict.exhausted, verdict.violations) == (False, False, [])
    assert "still depends on the time after" in verdict.stopped


def test_a_clock_that_nobody_needs_stops() -> None:
    class Looks(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result:
            """Note when it was first seen."""
            widget = await api.live.get(self.kind, request)
            if not widget.get("status"):
                widget["status"] = {"seen": api.now()}
                await api.status.update(widget)
            return Result(requeue_after=60)

    verdict = check(_scenario(Looks()))
    assert verdict
    assert verdict.states < 20


def tries_again(after: int, how: str) -> Controller:
    """A controller that fails, or asks for a retry, until some time has passed since the creation."""

    class Tries(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            """Give up at the deadline."""
            widget = await api.live.get(self.kind, request)
            if widget.get("status"):
                return None
            if _seconds(api.now()) - _seconds(widget["metadata"]["creationTimestamp"]) >= after:
                widget["status"] = {"phase": "GaveUp"}
                await api.status.update(widget)
                return None
            if how == "fails":
                raise RuntimeError("not yet")
            return Result(requeue=True)

    return Tries()


@pytest.mark.parametrize("how", ["fails", "asks"])
def test_retries_go_on_to_a_deadline(how: str) -> None:
    controller = tries_again(600, how)
    assert check(_scenario(controller, properties=[eventually(has_given_up)]))
    verdict = check(_scenario(controller, properties=[never(has_given_up)]))
    assert [violation.property for violation in verdict.violations] == ["has_given_up"]


def test_a_reconcile_that_asks_for_the_time_and_fails_at_all_times_fails_forever() -> None:
    class Fails(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            """Fail."""
            await api.live.get(self.kind, request)
            raise RuntimeError(f"at {api.now()}")

    assert [violation.property for violation in check(_scenario(Fails())).violations] == ["fails forever"]


def test_a_wait_that_ends_with_an_error_for_good_is_not_cut_as_a_cycle() -> None:
    class GivesUp(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result:
            """Wait for five seconds, and fail from then on."""
            widget = await api.get(self.kind, request)
            created = datetime.fromisoformat(widget["metadata"]["creationTimestamp"])
            if (datetime.fromisoformat(api.now()) - created).total_seconds() < 5:
                return Result(requeue_after=1)
            raise RuntimeError("too late")

    assert [violation.property for violation in check(_scenario(GivesUp())).violations] == ["fails forever"]


def test_a_wait_that_ends_with_writes_for_good_is_not_cut_as_a_cycle() -> None:
    class Toggles(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            """Wait for two hours, and write from then on."""
            widget = await api.get(self.kind, request)
            created = datetime.fromisoformat(widget["metadata"]["creationTimestamp"])
            if (datetime.fromisoformat(api.now()) - created).total_seconds() < 7_200:
                return Result(requeue_after=600)
            widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
            await api.status.update(widget)
            return None

    assert [violation.property for violation in check(_scenario(Toggles())).violations] == ["never settles"]


def acts_at(window: str, period: int) -> Controller:
    """A controller that acts at times that begin like this, and looks every so many seconds."""

    class Acts(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            """Act in a window of time."""
            widget = await api.live.get(self.kind, request)
            if api.now().partition("-")[2].startswith(window) and not widget.get("status"):
                widget["status"] = {"phase": "GaveUp"}
                await api.status.update(widget)
            return Result(requeue_after=period)

    return Acts()


def test_a_window_of_time_is_met_by_reconciles_that_nothing_interrupts() -> None:
    scenario = _scenario(acts_at("01-01T22", 3_600), properties=[never(has_given_up)])
    verdict = check(replace(scenario, bounds=replace(scenario.bounds, atomic=True)))
    assert [violation.property for violation in verdict.violations] == ["has_given_up"]


@pytest.mark.parametrize(("window", "period"), [("01-01T22", 600), ("01-05T03", 3_600), ("01-01T00:59", 60)])
def test_a_window_of_time_is_met(window: str, period: int) -> None:
    verdict = check(_scenario(acts_at(window, period), properties=[never(has_given_up)]))
    assert [violation.property for violation in verdict.violations] == ["has_given_up"]
