"""Parts that are put together, and those that need the whole: ends that several violate, time, and views for all."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND
from kontend import add_finalizer
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, create, delete, eventually
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.state.world import World
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result

MAP = "ConfigMap/v1"
#: Only responses of writes are lost.
LOST = Bounds(lag=0, crashes=0, failed=0)


def widget(name: str, **spec: Any) -> dict[str, Any]:
    """A widget."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


class Does(Controller):
    """Does to each widget what its spec says, once it has counted it."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Count, then do."""
        try:
            obj = await api.get(KIND, request)
        except NotFound:
            return None
        does = obj["spec"]["does"]
        if not obj.get("status"):
            number = await self.made(api, obj) if does.startswith("makes") else 1
            await self.counted(api, obj, number)
        if does == "leaks" and not obj["metadata"].get("deletionTimestamp") and add_finalizer(obj, "example.com/kept"):
            await api.update(await self.finalized(api, request))
        elif does == "fails":
            raise RuntimeError("no")
        elif does == "counts":
            await self.counted(api, obj, 1 + (obj.get("status") or {}).get("n", 0))
        elif does == "waits":
            return Result(requeue_after=5)
        elif does == "asks":
            api.now()
        elif does == "reads":
            await api.list(MAP, labels={"widget": request.name})
        return None

    async def made(self, api: Api, obj: dict[str, Any]) -> int:
        """Make a config map, and fail, write forever or note a 2 if it is there, as after a lost response."""
        metadata = {"name": obj["metadata"]["name"], "namespace": "default"}
        try:
            await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        except AlreadyExists:
            if obj["spec"]["does"] == "makes or fails":
                raise
            if obj["spec"]["does"] == "makes or toggles":
                base = copy.deepcopy(obj)
                obj["spec"]["on"] = not obj["spec"].get("on")
                await api.patch(obj, merge_from(base, lock=False))
                raise
            return 2
        return 1

    async def finalized(self, api: Api, request: Request) -> dict[str, Any]:
        """The latest version with the finalizer."""
        obj = await api.live.get(KIND, request)
        add_finalizer(obj, "example.com/kept")
        return obj

    async def counted(self, api: Api, obj: dict[str, Any], number: int) -> None:
        """Write a number."""
        base = copy.deepcopy(obj)
        changed = {**obj, "status": {"n": number}}
        await api.status.patch(changed, merge_from(base, lock=False))


def _scenario(*deeds: str, **more: Any) -> Scenario:
    """Widgets a, b … with what is done to each; those that leak are deleted."""
    objects = [widget(name, does=deed) for name, deed in zip("abcd", deeds, strict=False)]
    actions = [delete(obj) for obj in objects if obj["spec"]["does"] == "leaks"]
    bounds = more.pop("bounds", Bounds(faults=0, lag=0))
    return Scenario([Does()], crds=[CRD], objects=objects, actions=actions, bounds=bounds, **more)


def _is_in_parts(verdict: Verdict) -> bool:
    return any(note.startswith("explored as") for note in verdict.notes)


def _whole(scenario: Scenario) -> Verdict:
    verdict = check(replace(scenario, reductions=Reductions(parts=False)))
    assert not _is_in_parts(verdict)
    return verdict


def _properties(verdict: Verdict) -> list[str]:
    return sorted(violation.property for violation in verdict.violations)


def _end(scenario: Scenario, verdict: Verdict) -> tuple[Model, World]:
    """The state to which the only counterexample leads in the whole scenario."""
    (violation,) = verdict.violations
    model = Model(scenario)
    world = model.initial()
    for step in violation.schedule:
        assert step in model.steps(world)
        world = model.next(world, step).world
    return model, world


def test_a_leak_of_one_part_is_shown_with_all_others_at_rest() -> None:
    scenario = _scenario("leaks", "nothing", "nothing")
    verdict = check(scenario)
    assert _is_in_parts(verdict)
    assert _properties(verdict) == _properties(_whole(scenario)) == ["leak"]
    model, world = _end(scenario, verdict)
    assert is_quiescent(model, world, model.steps(world))


def test_a_failure_of_one_part_is_shown_after_all_others_have_settled() -> None:
    scenario = _scenario("fails", "nothing")
    verdict = check(scenario)
    assert _is_in_parts(verdict)
    assert _properties(verdict) == _properties(_whole(scenario)) == ["fails forever"]
    _, world = _end(scenario, verdict)
    assert Cluster(state=world.state).get(KIND, "b")["status"] == {"n": 1}
    assert verdict.violations[0].schedule[-1].subject == Key("default", "a")


@pytest.mark.parametrize("deeds", [("leaks", "leaks"), ("fails", "fails"), ("leaks", "fails")])
def test_violations_at_the_end_of_several_parts_need_the_whole(deeds: tuple[str, str]) -> None:
    scenario = _scenario(*deeds)
    verdict = check(scenario)
    assert not _is_in_parts(verdict)
    assert _properties(verdict) == _properties(_whole(scenario))


def _both_counted(cluster: Cluster) -> bool:
    return all(obj.get("status") for obj in cluster.list(KIND))


def test_a_property_is_asked_of_the_parts_together() -> None:
    def not_both(cluster: Cluster) -> bool:
        return not _both_counted(cluster)

    verdict = check(_scenario("nothing", "nothing", properties=[eventually(not_both)]))
    assert _is_in_parts(verdict)
    assert _properties(verdict) == ["not_both"]


@pytest.mark.parametrize("deeds", [("nothing", "makes or notes"), ("makes or notes", "nothing")])
def test_a_whole_is_exhausted_only_if_all_of_its_parts_are(deeds: tuple[str, str]) -> None:
    small = check(_scenario("nothing", bounds=LOST)).states
    assert check(_scenario(*deeds, bounds=LOST)).exhausted
    verdict = check(_scenario(*deeds, bounds=replace(LOST, states=small)))
    assert _is_in_parts(verdict)
    assert not verdict.exhausted


@pytest.mark.parametrize("deed", ["fails", "counts"])
def test_properties_of_runs_without_an_end_need_the_whole(deed: str) -> None:
    scenario = _scenario(deed, "nothing", properties=[eventually(_both_counted)])
    verdict = check(scenario)
    assert not _is_in_parts(verdict)
    assert _properties(verdict) == _properties(_whole(scenario))
    assert _is_in_parts(check(_scenario("nothing", "nothing", properties=[eventually(_both_counted)])))


@pytest.mark.parametrize("deed", ["makes or fails", "makes or toggles"])
def test_properties_of_runs_that_end_or_not_need_the_whole(deed: str) -> None:
    scenario = _scenario(deed, "nothing", properties=[eventually(_both_counted)], bounds=LOST)
    verdict = check(scenario)
    assert verdict.final_states
    assert "_both_counted" in _properties(verdict)
    assert _properties(verdict) == _properties(_whole(scenario))


def test_a_wrong_end_of_one_part_is_shown_with_all_others_at_rest() -> None:
    scenario = _scenario("makes or notes", "nothing", bounds=LOST)
    verdict = check(scenario)
    assert _is_in_parts(verdict)
    whole = _whole(scenario)
    assert _properties(verdict) == _properties(whole) == ["diverged"]
    assert (verdict.baseline_states, len(verdict.final_states)) == (1, 2)
    assert (whole.baseline_states, len(whole.final_states)) == (1, 2)
    model, world = _end(scenario, verdict)
    assert is_quiescent(model, world, model.steps(world))


def test_wrong_ends_of_several_parts_need_the_whole() -> None:
    scenario = _scenario("makes or notes", "makes or notes", bounds=LOST)
    verdict = check(scenario)
    assert not _is_in_parts(verdict)
    assert _properties(verdict) == _properties(_whole(scenario)) == ["diverged"]


@pytest.mark.parametrize("deed", ["waits", "asks", "reads"])
def test_time_and_views_that_all_parts_share_need_the_whole(deed: str) -> None:
    assert _is_in_parts(check(_scenario("nothing", "nothing", "nothing")))
    assert not _is_in_parts(check(_scenario(deed, "nothing", "nothing")))
    assert not _is_in_parts(check(_scenario("nothing", deed)))


def test_a_part_that_was_not_searched_to_its_end_stands_for_no_other() -> None:
    assert "of which 1 is like another but for names" in str(check(_scenario("nothing", "nothing")))
    cut = check(_scenario("nothing", "nothing", bounds=Bounds(faults=0, lag=0, states=3)))
    assert not cut.exhausted
    assert not any("like another" in note for note in cut.notes)


class KeepsOne(Controller):
    """Keeps the last widget by name."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Delete the others, whichever of them it was started for."""
        del request
        names = sorted(obj["metadata"]["name"] for obj in await api.live.list(KIND, namespace="default"))
        for name in names[:-1]:
            with suppress(NotFound):
                await api.delete(widget(name))
        return None


def test_objects_that_users_make_and_one_reconcile_compares_need_the_whole() -> None:
    scenario = Scenario(
        controllers=[KeepsOne()],
        crds=[CRD],
        actions=[create(widget("a")), create(widget("b"))],
        bounds=Bounds(lag=0, faults=0),
    )
    verdict = check(scenario)
    assert verdict.ok
    assert not _is_in_parts(verdict)
    assert verdict.states == _whole(scenario).states
