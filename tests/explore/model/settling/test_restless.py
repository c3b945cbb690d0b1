"""Runs in which something grows with every round are seen never to settle, although no state comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from explore.samples import Toggles
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, Widgets
from kontend.explore import Bounds, Scenario, Verdict, check
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
from kontend.explore.model.settling.restless import MOST_WRITES, restless
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result


def _scenario(controller: Controller, **bounds: Any) -> Scenario:
    given = Bounds(**{"faults": 0, "lag": 0, "states": 300, **bounds})
    return Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=given, guards=UNGUARDED)


def _violated(verdict: Verdict) -> set[str]:
    return {violation.property for violation in verdict.violations}


class Grows(Controller):
    """Counts its writes in the status, up to a number."""

    kind = KIND
    most = 10**9

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write."""
        widget = await api.get(self.kind, request)
        status = widget.get("status") or {}
        base = copy.deepcopy(widget)
        widget["status"] = {"count": min(status.get("count", 0) + 1, self.most)}
        if widget != base:
            await api.status.patch(widget, merge_from(base))


@pytest.mark.parametrize("bounds", [{}, {"lag": 1}, {"faults": 1}])
def test_a_counter_that_grows_never_settles(bounds: dict[str, int]) -> None:
    verdict = check(_scenario(Grows(), **bounds))
    assert "never settles" in _violated(verdict)
    assert not verdict.ok


def test_a_counter_that_stops_settles() -> None:
    class Stops(Grows):
        name = "stops"
        most = 5

    verdict = check(_scenario(Stops()))
    assert verdict.ok, verdict
    assert verdict.exhausted


def test_the_cycle_is_the_part_of_the_run_that_repeats() -> None:
    model = Model(_scenario(Grows()))
    cycle = restless(model)
    assert cycle is not None
    assert 0 <= cycle.begin < len(cycle.schedule) < MOST_WRITES
    transitions = replay(model, cycle.schedule)
    assert any(transition.changes for transition in transitions[cycle.begin :])
    assert all(transition.cost == 0 for transition in transitions)


def test_a_run_that_settles_has_no_cycle() -> None:
    assert restless(Model(_scenario(Widgets()))) is None
    assert restless(Model(_scenario(Toggles()))) is not None


class Again(Controller):
    """Looks again after a while, and writes then."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Count."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        beats = (widget.get("status") or {}).get("beats", 0)
        if self.due:
            widget["status"] = {"beats": beats + 1}
            await api.status.patch(widget, merge_from(base))
        self.due = not self.due
        return Result(requeue_after=10)

    memory = ("due",)
    due = True


def test_what_a_timer_writes_is_no_cycle_of_the_runs_own_making() -> None:
    assert restless(Model(_scenario(Again()))) is None


class AlwaysOneMore(Controller):
    """Creates a child by generateName on every reconcile, and reconciles again when one has appeared."""

    kind = KIND
    watches: ClassVar[Mapping[str, Any]] = {"ConfigMap/v1": lambda _obj, _cache: ["default/w"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create."""
        del request
        metadata = {"generateName": "child-", "namespace": "default"}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


class StaleDuplicates(AlwaysOneMore):
    """The same, unless its view shows a child."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create."""
        if not await api.list("ConfigMap/v1", namespace="default"):
            await super().reconcile(request, api)


def test_objects_by_generate_name_that_are_created_again_and_again_never_settle() -> None:
    cycle = restless(Model(_scenario(AlwaysOneMore())))
    assert cycle is not None
    assert len(cycle.schedule) == 4
    verdict = check(_scenario(AlwaysOneMore()))
    assert _violated(verdict) == {"never settles"}
    assert (
        verdict.stopped
        == "runs with 4 objects more than the first round of the unperturbed one were not followed further"
    )
    assert verdict.states < 30


def test_duplicates_by_generate_name_terminate() -> None:
    verdict = check(_scenario(StaleDuplicates(), lag=1, faults=1))
    assert verdict.exhausted or "objects more than any unperturbed one" in verdict.stopped
    assert verdict.states < 300
    assert _violated(verdict) == {"diverged"}


class Leaks(AlwaysOneMore):
    """Creates a child if the server has none, and one more whenever it has two: only perturbed runs grow."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create."""
        if len(await api.live.list("ConfigMap/v1", namespace="default")) != 1:
            await super().reconcile(request, api)


def test_runs_with_many_more_objects_than_an_unperturbed_one_are_given_up() -> None:
    """Two instances that create a child at once leave two of them, and then more and more."""
    verdict = check(_scenario(Leaks(), concurrent=2))
    assert not verdict.exhausted
    assert verdict.stopped == "runs with 4 objects more than any unperturbed one were not followed further"
    assert verdict.states < 300
