"""The double-plan race, as scenarios."""

from __future__ import annotations

import copy
from typing import Any

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, eventually
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

KIND = "Widget.example.com/v1"
WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {},
}
CRD = definition("Widget")
#: No guard is on, so that the controller alone decides.
UNGUARDED = Guards(
    read_your_writes=False,
    delete_preconditions=False,
    locked_status=False,
    monotonic_views=False,
    fencing=False,
)


class Widgets(Controller):
    """Makes a plan where it sees none."""

    kind = KIND
    lock = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and write a plan if there is none."""
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("plan"):
            return
        base = copy.deepcopy(widget)
        widget["status"] = {"plan": {"id": api.uuid()}}
        await api.status.patch(widget, merge_from(base, lock=self.lock))


class LockedWidgets(Widgets):
    """The same with a locked patch."""

    name = "widgets"
    lock = True


def planned(cluster: Cluster) -> bool:
    """The widget has a plan."""
    return bool((cluster.get(KIND, "w").get("status") or {}).get("plan"))


def one_plan(before: Cluster, after: Cluster) -> bool:
    """A stored plan is never replaced by another one."""
    old, new = ((cluster.get(KIND, "w").get("status") or {}).get("plan") for cluster in (before, after))
    return old is None or old == new


def double_plan(controller: Controller, *, lag: int = 1, concurrent: int = 1, states: int = 100_000) -> Scenario:
    """One widget, and some instances of a controller."""
    return Scenario(
        controllers=[controller],
        crds=[CRD],
        objects=[WIDGET],
        properties=[eventually(planned), always(one_plan)],
        bounds=Bounds(faults=0, lag=lag, concurrent=concurrent, states=states),
        guards=UNGUARDED,
    )


class Stamps(Controller):
    """Writes the time on every reconcile, and reconciles whenever the widget changes."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Stamp."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"seen": api.now()}
        await api.status.patch(widget, merge_from(base))
