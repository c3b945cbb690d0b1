"""Several objects that are alike, or nearly: one of them may stand for the others, or not."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

from explore.oracle.cases.common import CM, CRD, OFF, WIDGET, W, case, cm, made
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, delete, eventually, update
from kontend.kube.errors import Conflict, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

Widget = dict[str, Any]


def _widget(name: str) -> Widget:
    named = copy.deepcopy(WIDGET)
    named["metadata"]["name"] = name
    return named


class Marks(Controller):
    """Makes a config map for each widget, and marks the widget."""

    kind = W
    name = "marks"
    owns = (CM,)

    def __init__(self, mark: Callable[[Widget], str] = lambda _: "done", *, lock: bool = False) -> None:
        """``mark`` is what a widget is marked with."""
        self._mark = mark
        self._lock = lock

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make and mark."""
        try:
            widget = await api.get(W, request)
        except NotFound:
            return
        await made(api, cm(f"{request.name}-child", {"of": request.name}))
        if (widget.get("status") or {}).get("mark") != self._mark(widget):
            base = copy.deepcopy(widget)
            widget["status"] = {"mark": self._mark(widget)}
            with contextlib.suppress(Conflict, NotFound):
                await api.status.patch(widget, merge_from(base, lock=self._lock))


def _all_done(cluster: Cluster) -> bool:
    return all((widget.get("status") or {}).get("mark") == "done" for widget in cluster.list(W))


def _scenario(controller: Controller, **changes: Any) -> Scenario:
    options = {
        "crds": [CRD],
        "objects": [_widget("a"), _widget("b")],
        "properties": [eventually(_all_done)],
        "bounds": Bounds(faults=0, lag=0),
        "guards": OFF,
    }
    return Scenario([controller], **{**options, **changes})


@case
def two_alike() -> Scenario:
    """Two widgets that differ in their names."""
    return _scenario(Marks())


@case
def two_alike_that_fail() -> Scenario:
    """The same with a call that fails."""
    return _scenario(Marks(lock=True), bounds=Bounds(faults=1, failed=1, lag=0, crashes=0, rewind=0, lost=0))


@case
def the_second_is_marked_differently() -> Scenario:
    """Code that looks at the name."""
    return _scenario(Marks(lambda widget: "odd" if widget["metadata"]["name"] == "b" else "done"))


@case
def the_later_uid_is_marked_differently() -> Scenario:
    """Code that looks at the uid is explored as it is."""
    return _scenario(Marks(lambda widget: "odd" if widget["metadata"]["uid"] == "none" else "done"))


@case
def both_are_deleted() -> Scenario:
    """Users act on both in the same way."""
    return _scenario(Marks(), actions=[delete(_widget("a")), delete(_widget("b"))])


@case
def both_are_changed() -> Scenario:
    """Users act on both, and the code marks a widget with what it has read."""
    mark = Marks(lambda widget: "odd" if (widget.get("spec") or {}).get("size") == 2 else "done")
    changes = [update(_widget(name), spec={"size": size}) for name, size in (("a", 3), ("b", 2))]
    return _scenario(mark, actions=changes)
