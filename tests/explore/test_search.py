"""The explorer finds what can go wrong, and says when nothing can."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan, planned
from kontend.cluster.cluster import Cluster
from kontend.explore import BadScenario, Bounds, Scenario, always, check, eventually, never, sometimes, update
from kontend.explore.model.model import Model, replay
from kontend.explore.trace.artefact import replay_file, save
from kontend.kube.errors import AlreadyExists
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards


def test_two_blind_writers_make_two_plans() -> None:
    verdict = check(double_plan(Widgets(), lag=0, concurrent=2))
    assert {violation.property for violation in verdict.violations} == {"one_plan", "lost update"}
    (story,) = [violation.trace for violation in verdict.violations if violation.property == "one_plan"]
    assert len(story) == 6
    assert story[-1] == "widgets#2: patch Widget.example.com/v1 default/w/status"


def test_locked_writers_make_one_plan_in_every_world() -> None:
    verdict = check(double_plan(LockedWidgets(), lag=1, concurrent=2))
    assert verdict.ok
    assert "holds in all" in str(verdict)
    assert len(verdict.final_states) == 1


def test_the_same_scenario_gives_the_same_counts() -> None:
    first, second = (check(double_plan(LockedWidgets(), lag=1, concurrent=2)) for _ in range(2))
    assert (first.states, first.steps) == (second.states, second.steps)


def test_user_code_runs_once_for_each_new_answer() -> None:
    scenario = double_plan(Widgets(), lag=1, concurrent=3)
    verdict = check(replace(scenario, actions=[update(WIDGET, spec={"size": 3})]))
    assert verdict.steps > 3_000
    assert verdict.runs < 50


def test_a_stale_cache_alone_makes_two_plans_when_own_writes_are_not_waited_for() -> None:
    """One instance, one user: the second reconcile reads the cache before the first one's write has arrived there."""
    scenario = double_plan(Widgets(), lag=2)
    touched = Scenario(
        controllers=scenario.controllers,
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}}), update(WIDGET, metadata={"labels": {"a": "2"}})],
        properties=scenario.properties,
        bounds=Bounds(lag=2),
        guards=UNGUARDED,
    )
    assert "one_plan" in {violation.property for violation in check(touched).violations}


def test_waiting_for_own_writes_prevents_it() -> None:
    touched = Scenario(
        controllers=[Widgets()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}}), update(WIDGET, metadata={"labels": {"a": "2"}})],
        properties=[eventually(planned)],
        bounds=Bounds(lag=2),
        guards=Guards(locked_status=False, fencing=False),
    )
    verdict = check(touched)
    assert verdict.exhausted
    assert "lost update" not in {violation.property for violation in verdict.violations}


def test_a_counterexample_replays_to_the_same_story() -> None:
    scenario = double_plan(Widgets(), lag=0, concurrent=2)
    for violation in check(scenario).violations:
        again = [step.text for step in replay(Model(scenario), violation.schedule)]
        assert again == list(violation.trace)


def test_a_saved_counterexample_runs_again_from_its_file(tmp_path: Path) -> None:
    source = tmp_path / "scenario.py"
    source.write_text(
        "from explore.widgets import Widgets, double_plan\nrace = double_plan(Widgets(), lag=0, concurrent=2)\n"
    )
    violation = check(double_plan(Widgets(), lag=0, concurrent=2)).violations[0]
    first = save(tmp_path / "failures", source, "race", violation)
    assert save(tmp_path / "failures", source, "race", violation).read_bytes() == first.read_bytes()
    _, story = replay_file(first)
    assert story == list(violation.trace)


class Toggles(Controller):
    """Undoes whatever it did last."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Turn the switch."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        await api.status.patch(widget, merge_from(base))


def test_what_never_settles_is_found_as_worlds_that_lead_only_to_each_other() -> None:
    verdict = check(Scenario(controllers=[Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0)))
    assert verdict.exhausted
    assert verdict.final_states == []
    assert [violation.property for violation in verdict.violations] == ["never settles"]


class Fails(Controller):
    """Always fails."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Raise."""
        raise RuntimeError(f"{request} {api.manager}")


def test_an_error_that_is_retried_for_ever_is_not_an_end() -> None:
    verdict = check(Scenario(controllers=[Fails()], crds=[CRD], objects=[WIDGET]))
    assert verdict.final_states == []
    assert [violation.property for violation in verdict.violations] == ["fails forever"]
    assert "RuntimeError: default/w" in verdict.violations[0].sentence


class Counts(Controller):
    """Remembers how often it ran, and says so."""

    kind = KIND
    memory = ("seen",)
    seen = 0

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count up to two."""
        widget = await api.get(self.kind, request)
        if self.seen < 2:
            self.seen += 1
            base = copy.deepcopy(widget)
            widget["status"] = {"seen": self.seen}
            await api.status.patch(widget, merge_from(base))


def test_declared_memory_is_part_of_the_world() -> None:
    verdict = check(Scenario(controllers=[Counts()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0)))
    (end,) = verdict.final_states
    assert Cluster(state=end).get(KIND, "w")["status"] == {"seen": 2}


def test_a_property_that_never_held_is_told() -> None:
    def impossible(cluster: Cluster) -> bool:
        return cluster.get(KIND, "w").get("status") == "impossible"

    scenario = double_plan(LockedWidgets(), lag=0)
    tested = Scenario(
        controllers=scenario.controllers, crds=[CRD], objects=[WIDGET], properties=[sometimes(impossible)]
    )
    verdict = check(tested)
    assert verdict.untested == ["impossible"]
    assert not verdict.ok


def test_never_is_the_opposite_of_always() -> None:
    scenario = double_plan(LockedWidgets(), lag=0)
    tested = Scenario(controllers=scenario.controllers, crds=[CRD], objects=[WIDGET], properties=[never(planned)])
    assert [violation.property for violation in check(tested).violations] == ["planned"]


def test_a_space_that_does_not_close_is_not_called_passed() -> None:
    scenario = double_plan(LockedWidgets(), lag=1, concurrent=2, states=10)
    verdict = check(scenario)
    assert not verdict.exhausted
    assert not verdict.ok
    assert "did not close, because the limit of 10 worlds was reached" in str(verdict)
    assert 0 < verdict.cut < verdict.states


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bounds(lag=-1), "at least 0"),
        (lambda: Bounds(concurrent=0), "at least 1"),
        (lambda: always(5), "expected a function of a cluster"),  # type: ignore[arg-type]
        (lambda: eventually(lambda before, after: before == after), "it has 2 arguments"),
        (lambda: Scenario(controllers=[]).check(), "nothing to explore"),
        (lambda: Scenario(controllers=[Widgets(), LockedWidgets()], crds=[CRD]).check(), "two controllers are called"),
        (lambda: Scenario(controllers=[Widgets()]).check(), "no kind"),
        (lambda: update({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, spec={}), "needs an object with a name"),
    ],
)
def test_wrong_scenarios_are_refused_before_the_search(make: Any, message: str) -> None:
    with pytest.raises((BadScenario, Exception), match=message):
        make()


def test_a_property_that_raises_is_named() -> None:
    def broken(cluster: Cluster) -> bool:
        return bool(cluster.get(KIND, "nobody"))

    scenario = Scenario(controllers=[Widgets()], crds=[CRD], objects=[WIDGET], properties=[always(broken)])
    with pytest.raises(BadScenario, match=r"always\(broken\) raised NotFound"):
        check(scenario)


class Parallel(LockedWidgets):
    """Would work on two objects at once."""

    max_concurrent = 2


def test_what_a_controller_could_do_and_is_not_explored_is_told() -> None:
    verdict = check(double_plan(Parallel(), lag=0))
    assert verdict.ok
    assert "parallel: max_concurrent is 2, but each instance is explored with one reconcile at a time" in str(verdict)


class Flaps(Controller):
    """Makes a child where there is none, and deletes the one that is there."""

    kind = KIND
    owns = ("ConfigMap/v1",)

    async def reconcile(self, request: Request, api: Api) -> None:
        """There and away."""
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
def test_what_is_made_and_deleted_for_ever_comes_round(lag: int) -> None:
    """Each new child has another uid, as long as anybody knows the one before."""
    scenario = Scenario(controllers=[Flaps()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=lag, states=2_000))
    verdict = check(scenario)
    assert verdict.exhausted
    assert [violation.property for violation in verdict.violations] == ["never settles"]


class Wants(Controller):
    """Wants a field of the spec to have its own name."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set it."""
        widget = await api.get(self.kind, request)
        if widget["spec"].get("owner") != self.name:
            base = copy.deepcopy(widget)
            widget["spec"]["owner"] = self.name
            await api.patch(widget, merge_from(base, lock=True))


class Mine(Wants):
    """One of two."""


class Yours(Wants):
    """The other."""


@pytest.mark.parametrize("lag", [0, 1])
def test_two_who_fight_over_a_spec_never_settle_although_each_write_has_another_generation(lag: int) -> None:
    """Worlds without end, but where nobody is at work they come round, but for the generation."""
    scenario = Scenario([Mine(), Yours()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=lag, states=2_000))
    for each in (scenario, replace(scenario, bounds=replace(scenario.bounds, atomic=True))):
        verdict = check(each)
        assert "never settles" in {violation.property for violation in verdict.violations}
        assert "it never settles" in str(verdict)
