"""Scenarios of several objects, explored in parts and at once."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from effort import effort
from explore.widgets import CRD, KIND, UNGUARDED, LockedWidgets, Widgets
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, always, check, create, delete, eventually, update
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.replay.reproduce import follow
from kontend.explore.trace.token import read_token
from kontend.kube.errors import AlreadyExists, Conflict, NotFound
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Mapper, Request, Result
from kontend.runtime.writes.owners import set_controller_reference

MAP = "ConfigMap/v1"
STEPS = (
    "count", "count locked", "make own", "make shared", "read shared", "write shared", "list all", "list own",
    "delete own", "read neighbour", "fail once", "again",
)  # fmt: skip


def widget(name: str) -> dict[str, Any]:
    """A widget."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
    }


def config_map(name: str, owner: str) -> dict[str, Any]:
    """A config map with a label for its widget."""
    metadata = {"name": name, "namespace": "default", "labels": {"widget": owner}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}}


class Program(Controller):
    """Runs a list of steps on a widget, on config maps of its own, and on a shared one."""

    kind = KIND
    name = "widgets"
    owns: ClassVar[tuple[str, ...]] = (MAP,)

    def __init__(self, steps: Sequence[str]) -> None:
        """``steps`` are some of STEPS."""
        self.steps = tuple(steps)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Run the steps in order."""
        try:
            obj = await api.get(KIND, request)
        except NotFound:
            return None
        for step in self.steps:
            try:
                if await self._failed(step, obj, api):
                    return Result(requeue=True)
            except (NotFound, AlreadyExists, Conflict):
                continue
        return None

    async def _failed(self, step: str, obj: dict[str, Any], api: Api) -> bool:
        name = obj["metadata"]["name"]
        status = obj.get("status") or {}
        if step.startswith("count") and status.get("n", 0) < 1:
            base = copy.deepcopy(obj)
            obj["status"] = {**status, "n": status.get("n", 0) + 1}
            await api.status.patch(obj, merge_from(base, lock=step == "count locked"))
        elif step == "make own":
            await api.create(config_map(f"{name}-own", name))
        elif step == "make shared":
            await api.create(config_map("shared", "all"))
        elif step == "read shared":
            await api.get(MAP, "default/shared")
        elif step == "write shared":
            shared = await api.get(MAP, "default/shared")
            base = copy.deepcopy(shared)
            shared["data"] = {"by": name}
            await api.patch(shared, merge_from(base))
        elif step == "list all":
            await api.list(MAP, namespace="default")
        elif step == "list own":
            own = await api.list(MAP, namespace="default", labels={"widget": name})
            if len(own) > 1:
                await api.delete(own[0])
        elif step == "delete own":
            if status.get("n"):
                await api.delete(await api.get(MAP, f"default/{name}-own"))
        elif step == "read neighbour":
            await api.get(KIND, "default/b" if name == "a" else "default/a")
        elif step == "fail once":
            return not status.get("n")
        elif step == "again":
            return False
        return False


class ParentAndChild(Controller):
    """Makes a config map for each widget, and says so in its status."""

    kind = KIND
    owns: ClassVar[tuple[str, ...]] = (MAP,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create what is missing."""
        try:
            parent = await api.get(KIND, request)
        except NotFound:
            return
        with contextlib.suppress(AlreadyExists):
            child = config_map(request.name, request.name)
            set_controller_reference(parent, child)
            await api.create(child)
        if not (parent.get("status") or {}).get("made"):
            base = copy.deepcopy(parent)
            parent["status"] = {"made": True}
            await api.status.patch(parent, merge_from(base, lock=True))


def counted(cluster: Cluster) -> bool:
    """Every widget was counted."""
    return all((widget.get("status") or {}).get("n", 0) <= 1 for widget in cluster.list(KIND))


def whole(scenario: Scenario) -> Scenario:
    """The same scenario, explored at once."""
    return replace(scenario, reductions=replace(Reductions(), parts=False))


def in_parts(verdict: Verdict) -> bool:
    """A scenario was explored in parts."""
    return any("parts" in note for note in verdict.notes)


def same(parts: Verdict, full: Verdict) -> None:
    """Two verdicts say the same."""
    assert parts.exhausted == full.exhausted
    assert {violation.property for violation in parts.violations} == {
        violation.property for violation in full.violations
    }
    assert set(map(canonical_cluster, parts.final_states)) == set(map(canonical_cluster, full.final_states))
    assert parts.baseline_states == full.baseline_states


ACTIONS = {
    "none": [],
    "change a": [update(widget("a"), spec={"size": 1})],
    "change both": [update(widget("a"), spec={"size": 1}), update(widget("b"), spec={"size": 2})],
    "delete a": [update(widget("b"), spec={"size": 1}), delete(widget("a"))],
    "back and forth": [
        update(widget("a"), spec={"size": 1}),
        update(widget("b"), spec={"size": 1}),
        update(widget("a"), spec={"size": 2}),
    ],
}


@settings(max_examples=effort(20, 60), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
    actions=st.sampled_from(sorted(ACTIONS)),
    lag=st.integers(0, 1),
    concurrent=st.integers(1, 2),
    faults=st.integers(0, 1),
    asks=st.booleans(),
)
def test_parts_and_the_whole_have_the_same_verdict(
    steps: list[str], actions: str, lag: int, concurrent: int, faults: int, asks: bool
) -> None:
    scenario = Scenario(
        [Program(steps)],
        crds=[CRD],
        objects=[widget("a"), widget("b"), config_map("shared", "all")],
        actions=ACTIONS[actions],
        properties=[eventually(counted)] if asks else [],
        bounds=Bounds(lag=lag, concurrent=concurrent, faults=faults, states=6_000),
        guards=UNGUARDED,
    )
    parts = check(scenario)
    full = check(whole(scenario))
    assume(full.exhausted)
    same(parts, full)
    assert parts.states <= full.states


@pytest.mark.parametrize("instances", [1, 2])
def test_independent_objects_are_a_sum(instances: int) -> None:
    def scenario(count: int) -> Scenario:
        return Scenario(
            [ParentAndChild()],
            crds=[CRD],
            objects=[widget(f"w{number}") for number in range(count)],
            bounds=Bounds(concurrent=instances),
        )

    one, four = check(scenario(1)), check(scenario(4))
    assert one.ok
    assert four.ok
    assert in_parts(four)
    assert four.states <= 4 * one.states
    assert "explored as 4 parts that have nothing to do with each other" in str(four)


@pytest.mark.parametrize("step", ["make shared", "write shared", "read neighbour"])
def test_objects_that_meet_are_explored_together(step: str) -> None:
    scenario = Scenario(
        [Program(["count locked", step])],
        crds=[CRD],
        objects=[widget("a"), widget("b"), *([config_map("shared", "all")] if step == "write shared" else [])],
        bounds=Bounds(faults=0, lag=0),
    )
    verdict = check(scenario)
    assert not in_parts(verdict)
    same(verdict, check(whole(scenario)))


def test_a_list_that_selects_its_own_objects_keeps_parts_apart() -> None:
    def scenario(step: str) -> Scenario:
        return Scenario(
            [Program(["make own", step])],
            crds=[CRD],
            objects=[widget("a"), widget("b")],
            bounds=Bounds(faults=0, lag=0),
        )

    assert in_parts(check(scenario("list own")))
    assert not in_parts(check(scenario("list all")))


def test_a_violation_of_a_part_is_one_of_the_whole() -> None:
    scenario = Scenario(
        [Widgets()],
        crds=[CRD],
        objects=[widget("a"), widget("b")],
        bounds=Bounds(concurrent=2, faults=0),
        guards=UNGUARDED,
    )
    verdict, full = check(scenario), check(whole(scenario))
    assert in_parts(verdict)
    assert [violation.property for violation in verdict.violations] == [
        violation.property for violation in full.violations
    ]
    lost, expected = verdict.violations[0], full.violations[0]
    assert (len(lost.trace), lost.perturbations) == (len(expected.trace), expected.perturbations)
    assert follow(scenario, read_token(lost.token)).violations


def test_a_final_state_of_one_part_is_shown_with_the_others_at_rest() -> None:
    class Counting(Program):
        async def reconcile(self, request: Request, api: Api) -> Result | None:
            """Count b too often where its status is stale."""
            obj = await api.get(KIND, request)
            seen = (obj.get("status") or {}).get("n", 0)
            if seen < 1:
                live = await api.live.get(KIND, request) if request.name == "b" else obj
                base = copy.deepcopy(live)
                live["status"] = {"n": (live.get("status") or {}).get("n", 0) + 1}
                await api.status.patch(live, merge_from(base))
            return None

    scenario = Scenario(
        [Counting(())],
        crds=[CRD],
        objects=[widget("a"), widget("b")],
        properties=[eventually(counted)],
        bounds=Bounds(faults=0, concurrent=2),
        guards=UNGUARDED,
    )
    verdict, full = check(scenario), check(whole(scenario))
    assert in_parts(verdict)
    same(verdict, full)
    for violation in verdict.violations:
        assert follow(scenario, read_token(violation.token)).violations, violation.property


def test_properties_of_every_state_need_the_whole() -> None:
    scenario = Scenario(
        [LockedWidgets()],
        crds=[CRD],
        objects=[widget("a"), widget("b")],
        properties=[always(counted)],
        bounds=Bounds(faults=0, lag=0),
    )
    assert not in_parts(check(scenario))


@pytest.mark.parametrize("looks", [False, True])
def test_a_mapping_function_that_looks_at_the_cache_needs_the_whole(looks: bool) -> None:
    def widgets_of(obj: dict[str, Any], cache: Cache) -> list[str]:
        if looks:
            return [f"default/{widget['metadata']['name']}" for widget in cache.list(KIND)]
        return [f"default/{obj['metadata']['labels']['widget']}"]

    class Mapped(ParentAndChild):
        owns: ClassVar[tuple[str, ...]] = ()
        watches: ClassVar[Mapping[str, Mapper]] = {MAP: widgets_of}

    scenario = Scenario(
        [Mapped()], crds=[CRD], objects=[widget("a"), widget("b")], bounds=Bounds(faults=0), guards=UNGUARDED
    )
    verdict = check(scenario)
    assert in_parts(verdict) is not looks
    same(verdict, check(whole(scenario)))


def test_a_leak_is_one_of_the_part_that_has_touched_the_object() -> None:
    class Guarding(ParentAndChild):
        async def reconcile(self, request: Request, api: Api) -> None:
            """Put a finalizer on every widget, and never remove it."""
            obj = await api.get(KIND, request)
            if not obj["metadata"].get("finalizers") and not obj["metadata"].get("deletionTimestamp"):
                base = copy.deepcopy(obj)
                obj["metadata"]["finalizers"] = ["example.com/guard"]
                await api.patch(obj, merge_from(base))

    guarded = widget("c")
    guarded["metadata"]["finalizers"] = ["example.com/guard"]
    scenario = Scenario(
        [Guarding()],
        crds=[CRD],
        objects=[widget("a"), widget("b")],
        actions=[create(guarded), delete(widget("b"))],
        bounds=Bounds(faults=0, lag=0),
        guards=UNGUARDED,
    )
    verdict = check(scenario)
    assert in_parts(verdict)
    assert "leak" in {violation.property for violation in verdict.violations}
    same(verdict, check(whole(scenario)))
