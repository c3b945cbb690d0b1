"""A controller that writes one value, for tests of what a value may depend on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Bounds, Nondeterminism, Scenario, Verdict, check
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request


class Writes(Controller):
    """Writes a value into the status once."""

    kind = KIND

    def __init__(self, value: Callable[[], Any]) -> None:
        self.value = value

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write the value that the function returns."""
        widget = await api.get(self.kind, request)
        value = self.value()
        if "value" not in (widget.get("status") or {}):
            base = copy.deepcopy(widget)
            widget["status"] = {"value": value}
            await api.status.patch(widget, merge_from(base))


def explored(controller: Controller) -> Verdict:
    """The verdict of a small search."""
    return check(Scenario(controllers=[controller], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0)))


def nondeterminism(controller: Controller) -> str:
    """The message about a controller that is not deterministic."""
    with pytest.raises(Nondeterminism) as caught:
        explored(controller)
    return str(caught.value)
