"""Counterexamples that end before events which wake nobody: what they show is followed to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from explore.samples import Sums
from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Scenario, Verdict, check, delete, reproduce, update
from kontend.explore.trace.token import token_of
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Mapper, Request

_FINALIZER = "example.com/in-use"
_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}
_NOBODY: dict[str, Mapper] = {"ConfigMap/v1": lambda _object, _cache: []}


class Waits(Controller):
    """Keeps its finalizer as long as it sees a ConfigMap, whose events wake nobody."""

    kind = KIND
    watches: ClassVar[dict[str, Mapper]] = _NOBODY

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look once."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        metadata = widget["metadata"]
        if not metadata.get("deletionTimestamp"):
            if not metadata.get("finalizers"):
                await api.patch(widget, merge_patch({"metadata": {"finalizers": [_FINALIZER]}}))
        elif not await api.list("ConfigMap/v1"):
            await api.patch(widget, merge_patch({"metadata": {"finalizers": None}}))


class Closes(Controller):
    """Notes in the status that a Widget whose ConfigMap is gone is closed, likewise."""

    kind = KIND
    watches: ClassVar[dict[str, Mapper]] = _NOBODY

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look once."""
        widget = await api.get(self.kind, request)
        if not await api.list("ConfigMap/v1") and not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"closed": True}}))


_LEAKS = Scenario([Waits()], crds=[CRD], objects=[WIDGET, _MAP], actions=[delete(_MAP), delete(WIDGET)])


def _token(scenario: Scenario, name: str) -> str:
    (violation,) = [violation for violation in check(scenario).violations if violation.property == name]
    return token_of(violation.property, violation.schedule, scenario.bounds)


def _followed(scenario: Scenario, name: str) -> Verdict:
    """The verdict of a test with the counterexample of a search."""
    return reproduce(_token(scenario, name))(lambda: check(scenario))()


@pytest.mark.parametrize("name", ["leak", "diverged"])
def test_it_is_reproduced(name: str) -> None:
    again = _followed(_LEAKS, name)
    assert name in {violation.property for violation in again.violations}


def test_a_crash_that_would_heal_it_does_not_count() -> None:
    """After one, everything is listed again; but no fault need come."""
    actions = [delete(_MAP), update(WIDGET, metadata={"labels": {"touched": "yes"}})]
    again = _followed(replace(_LEAKS, controllers=[Closes()], actions=actions), "diverged")
    assert [violation.property for violation in again.violations] == ["diverged"]


def test_a_run_that_writes_other_values_for_ever_is_reproduced() -> None:
    scenario = Scenario([Sums()], crds=[CRD], objects=[WIDGET])
    again = _followed(scenario, "never settles")
    assert [violation.property for violation in again.violations] == ["never settles"]


def test_what_is_mended_is_not_reproduced() -> None:
    class Looks(Waits):
        name = "waits"
        watches: ClassVar[dict[str, Mapper]] = {"ConfigMap/v1": lambda _object, _cache: [Request("default", "w")]}

    mended = replace(_LEAKS, controllers=[Looks()])
    assert reproduce(_token(_LEAKS, "leak"))(lambda: check(mended))().violations == []
