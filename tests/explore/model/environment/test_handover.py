"""Hand-overs: the last write of an instance arrives after another one has taken its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Bounds, Scenario, check, update
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request


class Copies(Controller):
    """Copies the size of a widget to its status."""

    kind = KIND
    lock: bool = False

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        base = copy.deepcopy(widget)
        widget.setdefault("status", {})["size"] = widget.get("spec", {}).get("size", 0)
        await api.status.patch(widget, merge_from(base, lock=self.lock))


class Locked(Copies):
    """The same with a lock."""

    lock = True


ONLY: dict[str, Any] = {"lag": 0, "crashes": 0, "failed": 0, "lost": 0}


@pytest.mark.parametrize(("controller", "found"), [(Copies, ["lost update"]), (Locked, [])])
def test_a_write_that_arrives_late_overwrites_what_the_successor_wrote(
    controller: type[Controller], found: list[str]
) -> None:
    scenario = Scenario(
        [controller()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(**ONLY, handovers=1),
    )
    verdict = check(scenario)
    assert [violation.property for violation in verdict.violations] == found
    assert verdict.exhausted
    if found:
        assert any("is replaced by another process" in line for line in verdict.violations[0].trace)
        assert "the late patch" in verdict.violations[0].trace[-1]


def test_without_hand_overs_the_write_is_safe() -> None:
    scenario = Scenario(
        [Copies()], crds=[CRD], objects=[WIDGET], actions=[update(WIDGET, spec={"size": 2})], bounds=Bounds(**ONLY)
    )
    assert check(scenario).ok
