"""Code that tells uids apart by more than equality: one choice of uids does not stand for all."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET, LockedWidgets
from kontend import Api, Controller, Guards, Request
from kontend.explore import Bounds, Scenario, check
from kontend.explore.order_of_uids import mirrored


class _Leads(Controller):
    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark one widget."""
        del request
        widgets = await api.live.list(KIND, namespace="default")
        if widgets and not any("status" in widget for widget in widgets):
            chosen = self.chosen(widgets)
            if chosen is not None:
                chosen["status"] = {"leads": True}
                await api.status.update(chosen)

    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the widget to mark."""
        return min(widgets, key=lambda widget: str(widget["metadata"]["uid"]))


class _ByHash(_Leads):
    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the first one, for some uids."""
        return widgets[0] if int(widgets[0]["metadata"]["uid"][0], 16) < 8 else None


class _ByName(_Leads):
    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the widget with the least name; compare uids for equality only."""
        first = min(widgets, key=lambda widget: str(widget["metadata"]["name"]))
        return next(widget for widget in widgets if widget["metadata"]["uid"] == first["metadata"]["uid"])


def _scenario(controller: Controller) -> Scenario:
    other = {**WIDGET, "metadata": {**WIDGET["metadata"], "name": "a"}}
    return Scenario(
        [controller], crds=[CRD], objects=[WIDGET, other], bounds=Bounds(lag=0, faults=0), guards=Guards.off()
    )


@pytest.mark.parametrize("cls", [_Leads, _ByHash])
def test_code_that_orders_or_cuts_uids_is_not_said_to_hold(cls: type[_Leads]) -> None:
    controller = cls()
    verdict = check(_scenario(controller))
    assert (verdict.ok, verdict.violations) == (False, [])
    assert verdict.stopped == (
        f"{controller.name} would do something else with other uids, and one choice was explored"
    )


def test_code_that_compares_uids_for_equality_holds() -> None:
    assert check(_scenario(_ByName()))


def test_a_generated_uuid_that_is_stored_and_read_again_holds() -> None:
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0))
    assert check(scenario)


def test_mirrored_uids_have_the_other_order() -> None:
    one, other = "0bd75091-0000-4000-8000-d7f86bd75091", "6bd75091-0000-4000-8000-d7f86bd75091"
    assert one < other
    assert mirrored(one) > mirrored(other)
    assert mirrored(mirrored(one)) == one
