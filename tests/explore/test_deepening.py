"""Deepening: where everything holds with one fault in a run, two are tried, and the verdict says so."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from explore.widgets import CRD, KIND, WIDGET
from kontend import AlreadyExists, Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario, check

MAP = "ConfigMap/v1"


class Twice(Controller):
    """Tries a create again when it fails, once, and then gives up for good."""

    kind = KIND
    tries = 2

    async def reconcile(self, _: Request, api: Api) -> None:
        for _attempt in range(self.tries):
            with suppress(AlreadyExists, Exception):
                await api.create(new_object(MAP, "out", namespace="default"))
                return


def _scenario(tries: int) -> Scenario:
    controller = Twice()
    controller.tries = tries
    bounds = Bounds(lag=0, crashes=0)
    return Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=Guards.off())


def test_a_violation_that_takes_two_faults_is_found_by_deepening() -> None:
    assert check(_scenario(2)).ok
    verdict = check(_scenario(2), deepen=500)
    assert [violation.property for violation in verdict.violations] == ["diverged"]
    assert any("it takes two faults" in note for note in verdict.notes)
    assert "faults ≤ 2" in verdict.bounds
    assert verdict.documents[0].violation.sentence


def test_a_verdict_that_holds_says_how_far_it_went_with_two_faults() -> None:
    verdict = check(_scenario(3), deepen=500)
    assert verdict.ok
    assert "faults ≤ 1" in verdict.bounds
    assert any("no lasting damage found with two faults per run, in all" in note for note in verdict.notes)
    cut = check(_scenario(3), deepen=3)
    assert cut.ok
    assert any("not in all" in note for note in cut.notes)


class Recovers(Controller):
    """Creates one child. After a crash in between it looks for the child, if its list shows that it had begun."""

    kind = KIND
    owns = (MAP,)

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(KIND, request)
        phase = (widget.get("status") or {}).get("phase", "")
        if phase == "done":
            return
        if not phase:
            widget = await self._enter("creating", request, api)
        if not phase or not await api.live.list(MAP, namespace="default"):
            child = new_object(MAP, "", namespace="default")
            await api.create({**child, "metadata": {"namespace": "default", "generateName": "child-"}})
        await self._enter("done", request, api)

    async def _enter(self, phase: str, request: Request, api: Api) -> Any:
        widget = await api.live.get(KIND, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"phase": phase}
        await api.status.patch(widget, merge_from(base))
        return widget


def test_a_restart_onto_lists_that_lack_two_changes_is_found_by_deepening() -> None:
    bounds = Bounds(lag=0, failed=0, lost=0)
    scenario = Scenario([Recovers()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=Guards.off())
    assert check(scenario).ok
    verdict = check(scenario, deepen=500)
    assert [violation.property for violation in verdict.violations] == ["diverged"]
    assert any("it takes lists that are up to 3 changes old after a restart" in note for note in verdict.notes)


def test_bounds_that_are_given_are_not_deepened() -> None:
    scenario = Scenario([Twice()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0))
    assert check(scenario, deepen=500).notes == check(scenario).notes
