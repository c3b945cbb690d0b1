"""Runs in which a counter grows are cut off where they repeat, and reported as livelocks."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, Verdict, check, eventually, never
from kontend.explore.search import repetition
from kontend.kube.errors import AlreadyExists
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

MAP = "ConfigMap/v1"


def _names(verdict: Verdict) -> list[str]:
    return [violation.property for violation in verdict.violations]


class Flaps(Controller):
    """Creates a child if there is none, and deletes it otherwise: each child has another uid."""

    kind = KIND
    owns = (MAP,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create or delete."""
        widget = await api.get(self.kind, request)
        owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "controller": True}
        child = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "w",
                "namespace": "default",
                "ownerReferences": [{**owner, "uid": widget["metadata"]["uid"]}],
            },
        }
        try:
            await api.create(child)
        except AlreadyExists:
            await api.delete(child)


@pytest.mark.parametrize("lag", [0, 1])
def test_a_child_that_is_created_and_deleted_forever_never_settles(lag: int) -> None:
    scenario = Scenario([Flaps()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=lag, states=5_000))
    verdict = check(scenario)
    assert verdict.exhausted
    assert _names(verdict) == ["never settles"]
    assert verdict.repeated > 0
    assert f"{verdict.repeated:,} states repeat an earlier one" in str(verdict)


class Wants(Controller):
    """Sets a field of the spec to its own name."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the field."""
        widget = await api.get(self.kind, request)
        if widget["spec"].get("owner") != self.name:
            base = copy.deepcopy(widget)
            widget["spec"]["owner"] = self.name
            await api.patch(widget, merge_from(base, lock=True))


class Mine(Wants):
    """One of two."""


class Yours(Wants):
    """The other one."""


FIGHT = Scenario(
    [Mine(), Yours()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0, atomic=True), guards=UNGUARDED
)


@pytest.mark.parametrize("lag", [0, 1])
def test_two_controllers_that_fight_over_a_spec_never_settle(lag: int) -> None:
    """Every write raises the generation, so that no state comes back exactly."""
    verdict = check(replace(FIGHT, bounds=replace(FIGHT.bounds, lag=lag)))
    assert verdict.exhausted
    assert "never settles" in _names(verdict)


def test_a_fight_in_which_some_reconcile_is_always_in_flight_is_exhausted() -> None:
    verdict = check(replace(FIGHT, bounds=Bounds(faults=0, lag=0)))
    assert verdict.exhausted
    assert "never settles" in _names(verdict)


def test_a_fight_is_reported_even_where_the_space_is_not_exhausted() -> None:
    verdict = check(replace(FIGHT, bounds=Bounds(faults=0, lag=1, states=700)))
    assert "never settles" in _names(verdict)
    assert "the search is incomplete, because the limit of 700 states was reached" in str(verdict)


class Stamps(Controller):
    """Patches the observed generation through the main resource, which raises the generation again."""

    kind = "Gadget.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Stamp the generation unless it is stamped."""
        gadget = await api.get(self.kind, request)
        if (gadget.get("status") or {}).get("observedGeneration") != gadget["metadata"]["generation"]:
            base = copy.deepcopy(gadget)
            gadget["status"] = {"observedGeneration": gadget["metadata"]["generation"]}
            await api.patch(gadget, merge_from(base))


def _without_status(crd: dict[str, Any]) -> dict[str, Any]:
    crd = copy.deepcopy(crd)
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    for version in crd["spec"]["versions"]:
        version.pop("subresources", None)
    return crd


def test_observed_generation_without_a_status_subresource_never_settles() -> None:
    gadget = {**WIDGET, "kind": "Gadget"}
    scenario = Scenario([Stamps()], crds=[_without_status(CRD)], objects=[gadget], bounds=Bounds(faults=0, lag=0))
    verdict = check(scenario)
    assert "never settles" in _names(verdict)
    assert verdict.final_states == []


def _generation(number: int) -> Any:
    def reached(cluster: Cluster) -> bool:
        return bool(cluster.get(KIND, "w")["metadata"]["generation"] == number)

    return never(reached, name=f"generation {number}")


def test_everything_before_the_fourth_repetition_is_explored_exactly() -> None:
    """Each lap of the fight raises the generation by two; three laps are explored, not one."""
    scenario = replace(FIGHT, properties=[_generation(5)])
    assert "generation 5" in _names(check(scenario))


def test_fewer_repetitions_would_explore_less(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = check(FIGHT)
    monkeypatch.setattr(repetition, "_REPEATS", 1)
    short = check(FIGHT)
    assert short.states < exact.states
    assert _names(short) == _names(exact)


class Alternates(Controller):
    """Writes one of two values, whichever is not there: the states come back exactly."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Toggle the status, which does not count generations."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        await api.status.patch(widget, merge_from(base))


def test_states_that_come_back_exactly_are_no_repetition() -> None:
    verdict = check(
        Scenario([Alternates()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)
    )
    assert (verdict.repeated, _names(verdict)) == (0, ["never settles"])
    assert "repeat an earlier one" not in str(verdict)


class Names(Controller):
    """Creates an object with a generated name in every run, up to three; no state repeats another."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create, unless there are three."""
        await api.get(self.kind, request)
        children = await api.live.list(MAP, namespace=request.namespace)
        if len(children) < 3:
            metadata = {"generateName": "c-", "namespace": request.namespace}
            await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            raise RuntimeError("not enough yet")


def test_growth_that_ends_is_no_repetition() -> None:
    verdict = check(Scenario([Names()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED))
    assert verdict.ok
    assert (verdict.repeated, len(verdict.final_states)) == (0, 1)


@pytest.mark.parametrize("end", [6, 12, 30])
def test_a_counter_that_code_reads_is_followed_to_its_end(end: int) -> None:
    class Flips(Controller):
        kind = KIND

        async def reconcile(self, request: Request, api: Api) -> None:
            """Change the spec until its generation is high enough."""
            widget = await api.live.get(self.kind, request)
            if widget["metadata"]["generation"] < end:
                widget["spec"] = {"size": 3 - widget["spec"]["size"]}
                await api.update(widget)

    def is_at_the_end(cluster: Cluster) -> bool:
        return bool(cluster.get(KIND, "w")["metadata"]["generation"] == end)

    scenario = Scenario(
        controllers=[Flips()],
        crds=[CRD],
        objects=[{**WIDGET, "spec": {"size": 1}}],
        properties=[eventually(is_at_the_end), never(is_at_the_end, name="never")],
        bounds=Bounds(lag=0, faults=0),
    )
    verdict = check(scenario)
    assert (verdict.exhausted, verdict.repeated) == (True, 0)
    assert [violation.property for violation in verdict.violations] == ["never"]
