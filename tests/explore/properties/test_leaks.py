"""Leaks: objects that wait forever for a finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend import add_finalizer, remove_finalizer
from kontend.explore import Bounds, Scenario, check, delete
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

NAME = "example.com/widgets"


class Finalizes(Controller):
    """Adds a finalizer, and removes it when the widget is deleted."""

    kind = KIND
    removes = True

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        if not widget["metadata"].get("deletionTimestamp"):
            if add_finalizer(widget, NAME):
                await api.update(widget)
        elif self.removes and remove_finalizer(widget, NAME):
            await api.update(widget)


class Forgets(Finalizes):
    """Never removes it."""

    removes = False


def _verdict(controller: Controller, widget: dict[str, Any]) -> Any:
    bounds = Bounds(lag=0, faults=0)
    return check(Scenario([controller], crds=[CRD], objects=[widget], actions=[delete(widget)], bounds=bounds))


def test_a_finalizer_that_no_controller_removes_is_a_leak() -> None:
    verdict = _verdict(Forgets(), WIDGET)
    assert [violation.property for violation in verdict.violations] == ["leak"]
    assert f"no controller removes its finalizer {NAME}" in verdict.violations[0].sentence
    assert "leak: violated" in str(verdict)


def test_a_finalizer_that_is_removed_is_none() -> None:
    assert _verdict(Finalizes(), WIDGET).ok


@pytest.mark.parametrize("name", ["other.example.com/kept", "foregroundDeletion"])
def test_a_finalizer_of_somebody_else_is_none(name: str) -> None:
    widget = {**WIDGET, "metadata": {**WIDGET["metadata"], "finalizers": [name]}}
    assert _verdict(Finalizes(), widget).ok
