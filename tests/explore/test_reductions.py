"""Reductions change how many worlds are visited, and nothing else."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore.check import check
from kontend.explore.scenario import Bounds, Reductions, Scenario, always, eventually, sometimes, update
from kontend.explore.uuids import end_key
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.runtime.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.patches import merge_from

BRUTE_FORCE = Reductions(
    symmetry=False, outcomes=False, uuids=False, deliveries=False, reads=False, sleep=False, persistent=False
)
STEPS = ("read", "read live", "count", "count locked", "mark", "give up if counted", "create", "delete", "fail")


class Program(Controller):
    """Does what a list of steps says. Counts to two at most, so that it comes to an end."""

    kind = KIND
    name = "program"
    steps: ClassVar[tuple[str, ...]] = ()

    async def reconcile(self, request: Request, api: Api) -> None:
        """Step after step."""
        obj = await api.get(KIND, request)
        for step in self.steps:
            status = obj.get("status") or {}
            if step == "read":
                obj = await api.get(KIND, request)
            elif step == "read live":
                obj = await api.live.get(KIND, request)
            elif step in ("count", "count locked") and status.get("n", 0) < 2:
                obj = await self._patch(api, obj, {"n": status.get("n", 0) + 1}, lock=step == "count locked")
            elif step == "mark":
                obj = await self._patch(api, obj, {"marked": True}, lock=False)
            elif step == "give up if counted" and status.get("n", 0):
                return
            elif step == "fail" and not status.get("n", 0) and not status.get("marked"):
                await self._patch(api, obj, {"marked": True}, lock=False)
                raise RuntimeError("no")
            elif step in ("create", "delete"):
                await self._child(api, request, step)

    async def _patch(self, api: Api, obj: dict[str, Any], change: dict[str, Any], *, lock: bool) -> dict[str, Any]:
        base = copy.deepcopy(obj)
        obj["status"] = {**(obj.get("status") or {}), **change}
        await api.status.patch(obj, merge_from(base, lock=lock))
        return obj

    async def _child(self, api: Api, request: Request, step: str) -> None:
        metadata = {"name": request.name, "namespace": request.namespace}
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        with contextlib.suppress(AlreadyExists, NotFound):
            await (api.create(child) if step == "create" else api.delete(child))


def _counted(cluster: Cluster) -> bool:
    return bool(cluster.get(KIND, "w").get("status", {}).get("n", 0))


def _grows(before: Cluster, after: Cluster) -> bool:
    one, two = (each.get(KIND, "w").get("status", {}).get("n", 0) for each in (before, after))
    return bool(two > one or two == one)


def programmed(steps: list[str], *, lag: int, concurrent: int, acts: bool) -> Scenario:
    """A scenario in which controllers do what the steps say."""
    program = type("Program", (Program,), {"steps": tuple(steps)})
    return Scenario(
        controllers=[program()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}})] if acts else [],
        properties=[eventually(_counted), always(_grows), sometimes(_counted, name="is counted")],
        bounds=Bounds(lag=lag, concurrent=concurrent),
        guards=UNGUARDED,
    )


def _same_with_and_without(scenario: Scenario) -> tuple[int, int]:
    """Explore with all reductions and with none; returns the numbers of worlds."""
    reduced, full = check(scenario), check(replace(scenario, reductions=BRUTE_FORCE))
    assert (reduced.closed, full.closed) == (True, True)
    assert {end_key(state) for state in reduced.end_states} == {end_key(state) for state in full.end_states}
    assert {each.property for each in reduced.violations} == {each.property for each in full.violations}
    lengths = [{each.property: len(each.moves) for each in verdict.violations} for verdict in (reduced, full)]
    assert lengths[0] == lengths[1]
    assert reduced.worlds <= full.worlds
    return reduced.worlds, full.worlds


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
    lag=st.integers(0, 1),
    concurrent=st.integers(1, 2),
    acts=st.booleans(),
)
def test_the_end_states_and_the_violations_are_those_of_brute_force(
    steps: list[str], lag: int, concurrent: int, acts: bool
) -> None:
    _same_with_and_without(programmed(steps, lag=lag, concurrent=concurrent, acts=acts))


@pytest.mark.parametrize("controller", [Widgets, LockedWidgets])
def test_three_instances_that_change_places_are_one_world(controller: type[Controller]) -> None:
    reduced, full = _same_with_and_without(double_plan(controller(), lag=1, concurrent=3))
    assert full > 4 * reduced
