"""Local states that differ only in what wants a request are one, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, eventually, patch
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.search import breadth_first
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Mapper, Request

CONFIG: Final = "ConfigMap/v1"


class Copies(Controller):
    """Copies the size of a widget into a ConfigMap, of which it reads no cache."""

    kind = KIND
    owns: ClassVar[tuple[str, ...]] = (CONFIG,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply the ConfigMap, then store that it is there."""
        widget = await api.get(self.kind, request)
        size = str(widget["spec"].get("size", 0))
        await api.apply(self.config(widget, {"size": size}), manager="copies", force=True)
        await self.look(widget, api)
        base = copy.deepcopy(widget)
        widget["status"] = {"seen": size}
        if widget["status"] != base.get("status"):
            await api.status.patch(widget, merge_from(base, lock=True))

    def config(self, widget: dict[str, Any], data: dict[str, str]) -> dict[str, Any]:
        """The ConfigMap of a widget."""
        metadata = widget["metadata"]
        owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": metadata["name"], "uid": metadata["uid"]}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "default", "ownerReferences": [{**owner, "controller": True}]},
            "data": data,
        }

    async def look(self, widget: dict[str, Any], api: Api) -> None:
        """Do nothing more."""


class ReadsLater(Copies):
    """Reads the ConfigMap from its cache once the size is 2."""

    name = "copies"

    async def look(self, widget: dict[str, Any], api: Api) -> None:
        """Read it."""
        if widget["spec"].get("size") == 2:
            await api.get(CONFIG, Request("default", "c"))


class AtOnce(Copies):
    """Makes two calls at a time."""

    name = "copies"

    async def look(self, widget: dict[str, Any], api: Api) -> None:
        """Read both from the server."""
        del widget
        await asyncio.gather(api.live.get(CONFIG, Request("default", "c")), api.live.get(KIND, Request("default", "w")))


class Misses(Copies):
    """Stores what it finds in a ConfigMap, and is not told when that changes."""

    name = "copies"
    owns: ClassVar[tuple[str, ...]] = ()

    async def reconcile(self, request: Request, api: Api) -> None:
        """Store the size that is there."""
        widget = await api.get(self.kind, request)
        found = await api.live.get(CONFIG, Request("default", "c"))
        base = copy.deepcopy(widget)
        widget["status"] = {"seen": found["data"]["size"]}
        if widget["status"] != base.get("status"):
            await api.status.patch(widget, merge_from(base, lock=True))


class IsTold(Misses):
    """The same, and every change of it wants the widget."""

    watches: ClassVar[Mapping[str, Mapper]] = {CONFIG: lambda *_: [Request("default", "w")]}


def sized(controller: Controller, **bounds: Any) -> Scenario:
    """A widget whose size a user changes."""
    return Scenario(
        [controller],
        crds=[CRD],
        objects=[WIDGET],
        actions=[patch(WIDGET, {"spec": {"size": 2}})],
        bounds=Bounds(**{"faults": 0, **bounds}),
    )


def forms(verdict: Verdict) -> set[bytes]:
    """The canonical forms of the final states."""
    return {canonical_cluster(state) for state in verdict.final_states}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try sets of states from the first state on, of a single instance too."""
    for attempts in ("PROVE_AFTER", "PROVE_ALONE_AFTER"):
        monkeypatch.setattr(breadth_first, attempts, ((0, 1_000_000),))


@pytest.mark.parametrize("lag", [0, 1, 2])
@pytest.mark.parametrize("controller", [Copies(), ReadsLater(), AtOnce()], ids=lambda each: type(each).__name__)
def test_joined_states_end_where_single_states_end(controller: Controller, lag: int) -> None:
    scenario = sized(controller, lag=lag)
    plain = check(replace(scenario, reductions=Reductions(factored=False)))
    joined = check(scenario)
    apart = check(replace(scenario, reductions=Reductions(wanted=False)))
    assert (plain.ok, joined.ok, apart.ok) == (True, True, True)
    assert joined.sets > 0
    assert forms(joined) == forms(apart) == forms(plain)


def follows(cluster: Cluster) -> bool:
    """The status has the size of the ConfigMap."""
    return (cluster.get(KIND, "w").get("status") or {}).get("seen") == "2"


@pytest.mark.parametrize(("controller", "misses"), [(Misses(), True), (IsTold(), False)], ids=["missed", "told"])
def test_a_request_that_nobody_wants_is_not_reconciled(controller: Controller, *, misses: bool) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    first = {**config, "data": {"size": "1"}}
    actions = [patch(WIDGET, {"spec": {"size": 2}}), patch(first, {"data": {"size": "2"}})]
    scenario = replace(sized(controller), objects=[WIDGET, first], actions=actions, properties=[eventually(follows)])
    plain = check(replace(scenario, reductions=Reductions(factored=False)))
    verdict = check(scenario)
    assert {violation.property for violation in plain.violations} == ({"follows"} if misses else set())
    assert [each.schedule for each in verdict.violations] == [each.schedule for each in plain.violations]
    assert (verdict.sets > 0) is not misses
    assert forms(verdict) == forms(plain)


def test_faults_are_followed_too() -> None:
    scenario = sized(Copies(), faults=1)
    plain = check(replace(scenario, reductions=Reductions(factored=False)))
    verdict = check(scenario)
    assert verdict.ok
    assert verdict.sets > 0
    assert forms(verdict) == forms(plain)
