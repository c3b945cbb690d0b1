"""Restarts onto older lists: with and without reductions the same happens, also where ``lag`` allows less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from explore.programs import by_brute_force
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, Verdict, check, create, delete, update
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.predicates import GenerationChanged, Predicate

OLD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"v": "old"},
}


async def _noted(api: Api, name: str) -> None:
    """Create a secret with a name, unless there is one."""
    try:
        await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}})
    except AlreadyExists:
        return


def _same(scenario: Scenario) -> Verdict:
    """The verdict, which is the same without reductions."""
    reduced, full = check(scenario), check(by_brute_force(scenario))
    assert reduced.exhausted
    assert full.exhausted
    assert set(map(canonical_cluster, reduced.final_states)) == set(map(canonical_cluster, full.final_states))
    assert {violation.property for violation in reduced.violations} == {
        violation.property for violation in full.violations
    }
    assert reduced.baseline_states == full.baseline_states
    return reduced


class Colors(Controller):
    """Notes the color of a widget, and is not interested in events that leave the generation alone."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Predicate]] = {KIND: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Note."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        await _noted(api, widget["spec"]["color"])


def test_a_relist_of_lists_that_are_two_changes_old_drops_an_object_that_was_replaced() -> None:
    """The delete and the create come as one update, of which the predicate thinks that it changes nothing."""
    red, blue = ({**WIDGET, "spec": {"color": color}} for color in ("red", "blue"))
    scenario = Scenario(
        [Colors()],
        crds=[CRD],
        objects=[red],
        actions=[delete(red), create(blue)],
        bounds=Bounds(lag=0, crashes=1, rewind=2, failed=0, lost=0),
        guards=UNGUARDED,
    )
    verdict = _same(scenario)
    assert "diverged" in {violation.property for violation in verdict.violations}
    assert _same(replace(scenario, bounds=replace(scenario.bounds, lag=1))).violations


class Pairs(Controller):
    """Once the config map is the newest one, notes the config map together with the widget, both from its views."""

    kind = KIND
    watches: ClassVar[Mapping[str, Any]] = {"ConfigMap/v1": lambda _obj, _cache: []}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Note."""
        newest = await api.live.get("ConfigMap/v1", Request("default", "a"))
        if newest["data"]["v"] == "newest":
            config_map = await api.get("ConfigMap/v1", Request("default", "a"))
            widget = await api.get(self.kind, request)
            await _noted(api, f"{config_map['data']['v']}-{widget['spec'].get('size', 0)}")


def test_a_write_of_another_kind_brings_older_lists_forward_between_two_reads() -> None:
    """The first read shows the oldest config map; the second one the widget that was written meanwhile."""
    scenario = Scenario(
        [Pairs()],
        crds=[CRD],
        objects=[WIDGET, OLD],
        actions=[
            update(OLD, data={"v": "newer"}),
            update(OLD, data={"v": "newest"}),
            update(WIDGET, spec={"size": 1}),
        ],
        bounds=Bounds(lag=1, crashes=1, rewind=2, failed=0, lost=0),
        guards=UNGUARDED,
    )
    names = {key.name for state in _same(scenario).final_states for key in state.objects("secrets")}
    assert {"old-0", "old-1"} <= names
