"""Code that depends on generations is told from code that compares and observes them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Bounds, Scenario, patch
from kontend.explore.model.model import Model
from kontend.explore.program.generations import Generations
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

OTHER: dict[str, Any] = {**WIDGET, "metadata": {"name": "other", "namespace": "default"}}


class Observes(Controller):
    """Stores the generation that it has read, where it differs from the one that is stored."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Stamp the status."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = await self.status(widget, api)
        if widget["status"] != base.get("status"):
            await api.status.patch(widget, merge_from(base, lock=True))

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """The status of a widget."""
        del api
        return {"observedGeneration": widget["metadata"]["generation"]}


class Compares(Observes):
    """Looks at every widget, and at what was observed of each."""

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """The positions of those that are not observed."""
        widgets = await api.list(self.kind)
        seen = [(each.get("status") or {}).get("observedGeneration") for each in widgets]
        behind = [at for at, each in enumerate(widgets) if seen[at] != each["metadata"]["generation"]]
        return {"observedGeneration": widget["metadata"]["generation"], "behind": behind}


class Counts(Observes):
    """Does something else from the third change on."""

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """A phase."""
        del api
        return {"phase": "Old" if widget["metadata"]["generation"] > 2 else "New"}


class Renames(Observes):
    """Stores the generation under another name."""

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """The number of changes."""
        del api
        return {"changes": widget["metadata"]["generation"]}


class ComparesTwo(Observes):
    """Compares the generations of two objects."""

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """A flag: the first one has changed more often."""
        other = await api.get(self.kind, Request("default", "other"))
        return {"more": widget["metadata"]["generation"] > other["metadata"]["generation"]}


class Remembers(Observes):
    """Keeps the generation in its memory."""

    memory = ("seenGeneration",)
    seenGeneration = 0

    async def status(self, widget: dict[str, Any], api: Api) -> dict[str, Any]:
        """A flag: it has changed."""
        del api
        changed, self.seenGeneration = self.seenGeneration, widget["metadata"]["generation"]
        return {"changed": bool(changed)}


def generations_of(controller: Controller) -> Generations:
    """The recorded runs of a controller, after a search."""
    actions = [patch(WIDGET, {"spec": {"size": size}}) for size in (2, 3)]
    model = Model(
        Scenario([controller], crds=[CRD], objects=[WIDGET, OTHER], actions=actions, bounds=Bounds(lag=0, faults=0))
    )
    BreadthFirst(model).run()
    return Generations(model.programs)


@pytest.mark.parametrize("controller", [Observes(), Compares()])
def test_code_that_observes_generations_does_the_same_with_others(controller: Controller) -> None:
    assert not generations_of(controller).matter()


@pytest.mark.parametrize("controller", [Counts(), Renames(), ComparesTwo(), Remembers()])
def test_code_that_counts_does_not(controller: Controller) -> None:
    found = generations_of(controller)
    assert found.matter()
    assert found.matter()  # and keeps it in mind
