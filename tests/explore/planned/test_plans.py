"""Runs under a plan: only the perturbations happen that it names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kontend import AlreadyExists, Api, Cluster, Controller, Guards, NotFound, Request, new_object
from kontend.explore import BadScenario, Bounds, Scenario, eventually, never, update
from kontend.explore.planned.perturbations import PERTURBATIONS, only, unperturbed
from kontend.explore.planned.plan import load_plan, plan_of
from kontend.explore.planned.running import explore_plan
from kontend.testing import permissive_crd

WIDGET = "Widget.example.com/v1"
CONFIG = "ConfigMap/v1"


class Widgets(Controller):
    """Copies the size into two config maps, one after the other, and never comes back to the second."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(WIDGET, request)
        try:
            await api.live.get(CONFIG, "default/first")
        except NotFound:
            data = {"size": str(widget["spec"]["size"])}
            await api.create(new_object(CONFIG, "first", namespace="default") | {"data": data})
            await api.create(new_object(CONFIG, "second", namespace="default") | {"data": data})


class Locked(Controller):
    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(WIDGET, request)
        if widget.get("status", {}).get("size") != widget["spec"]["size"]:
            widget["status"] = {"size": widget["spec"]["size"]}
            await api.status.update(widget)


def both(cluster: Cluster) -> bool:
    return (
        len(
            [config_map for config_map in cluster.list(CONFIG) if config_map["metadata"]["name"] in ("first", "second")]
        )
        == 2
    )


def size(expected: int) -> Any:
    def has_size(cluster: Cluster) -> bool:
        return any(config_map.get("data", {}).get("size") == str(expected) for config_map in cluster.list(CONFIG))

    return has_size


W = new_object(WIDGET, "w", spec={"size": 1})


def scenario(controller: Controller, **options: Any) -> Scenario:
    return Scenario(
        controllers=[controller], crds=[permissive_crd(WIDGET)], objects=[W], guards=Guards.off(), **options
    )


def violated(given: Scenario, **plan: Any) -> list[str]:
    verdict = explore_plan(given, plan_of(plan, "plan"))
    assert verdict.exhausted
    return sorted({violation.property for violation in verdict.violations})


def test_an_empty_plan_perturbs_nothing() -> None:
    verdict = explore_plan(scenario(Widgets(), properties=[eventually(both)]), plan_of({}, "plan"))
    assert verdict.ok
    assert "only what the plan says: nothing" in verdict.summary


def test_a_crash_happens_after_the_write_that_the_plan_names() -> None:
    given = scenario(Widgets(), properties=[eventually(both)])
    crash = {"reconciler": "widgets", "crashAfterEffect": 1}
    assert violated(given, faultInjection=[crash]) == ["both", "diverged"]
    assert violated(given, faultInjection=[{**crash, "crashAfterEffect": 2}]) == []
    assert violated(given, faultInjection=[{**crash, "triggerAfterDepth": 50}]) == []


def test_a_crash_that_does_no_harm_is_clean() -> None:
    class Heals(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(WIDGET, request)
            for name in ("first", "second"):
                with suppress(AlreadyExists):
                    await api.create(new_object(CONFIG, name, namespace="default"))

    given = scenario(Heals(), properties=[eventually(both)])
    assert violated(given, faultInjection=[{"reconciler": "heals", "crashAfterEffect": 1}]) == []


def test_a_frozen_view_is_a_lasso() -> None:
    given = scenario(Locked(), actions=[update(W, spec={"size": 2})])
    frozen = {"reconciler": "locked", "kind": WIDGET, "staleAt": 0}
    assert violated(given, stalenessIntervals=[frozen], userActionReadyDepths={0: 0}) == ["fails forever"]
    assert violated(given, stalenessIntervals=[{**frozen, "catchUpAt": 1}], userActionReadyDepths={0: 0}) == []


def test_a_view_may_lag_by_some_events() -> None:
    given = scenario(Widgets(), actions=[update(W, spec={"size": 2})], properties=[never(size(1), name="old size")])
    lagging = {"reconciler": "widgets", "kind": WIDGET, "staleAt": 0, "lag": 1}
    now = {0: 0}
    assert violated(given, userActionReadyDepths=now) == []
    assert "old size" in violated(given, userActionReadyDepths=now, stalenessIntervals=[lagging])


def test_an_action_without_a_depth_is_taken_at_rest() -> None:
    given = scenario(Widgets(), actions=[update(W, spec={"size": 2})], properties=[never(size(2), name="new size")])
    assert violated(given) == []
    assert "new size" in violated(given, userActionReadyDepths={0: 0})


def test_orders_are_permuted_only_within_the_range() -> None:
    class First(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(WIDGET, request)
            try:
                await api.live.get(CONFIG, "default/winner")
            except NotFound:
                winner = new_object(CONFIG, "winner", namespace="default") | {"data": {"name": self.name}}
                await api.create(winner)

    class Second(First):
        pass

    given = Scenario(controllers=[First(), Second()], crds=[permissive_crd(WIDGET)], objects=[W], guards=Guards.off())

    def winners(**plan: Any) -> int:
        return len(explore_plan(given, plan_of(plan, "plan")).final_states)

    permuted = ["first", "second"]
    assert winners() == 1
    assert winners(permuteControllers=permuted) == 2
    assert winners(permuteControllers=permuted, permuteDepthRange={"min": 0, "max": 0}) == 2
    assert winners(permuteControllers=permuted, permuteDepthRange={"min": 1, "max": 9}) == 1
    assert winners(permuteControllers=permuted, permuteAfterEvent={"opType": "UPDATE", "kind": WIDGET}) == 1


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"permuteController": []}, r"no field is called permuteController \(did you mean permuteControllers"),
        ({"permuteControllers": ["widget"]}, r"no controller is called widget \(did you mean widgets"),
        (
            {"stalenessIntervals": [{"reconciler": "widgets", "kind": "Widget", "staleAt": 0}]},
            "no kind is called Widget",
        ),
        ({"stalenessIntervals": [{"reconciler": "widgets", "kind": WIDGET}]}, "fields are missing, of: .*staleAt"),
        ({"faultInjection": [{"reconciler": "widgets", "crashAfterEffect": "1"}]}, "expected a value of type int"),
        ({"userActionReadyDepths": {3: 1}}, "there is no action 3"),
        ({"permuteAfterEvent": {"opType": "PATCH", "kind": WIDGET}}, "no opType is called PATCH"),
        ({"search": {"strategy": "dfs"}}, "expected search, seed and walks"),
        ({"search": {"search": "bfs"}}, "no strategy is called bfs"),
        ([], "expected fields and values"),
    ],
)
def test_a_plan_with_an_unknown_name_is_refused(plan: Any, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        explore_plan(scenario(Widgets()), plan_of(plan, "plan"))


def test_a_plan_is_read_from_yaml(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("faultInjection:\n- {reconciler: widgets, crashAfterEffect: 1}\n")
    assert load_plan(file).faultInjection[0].crashAfterEffect == 1
    file.write_text("faultInjection: [")
    with pytest.raises(BadScenario, match="not YAML"):
        load_plan(file)


def test_names_of_perturbations_are_bounds() -> None:
    assert unperturbed(Bounds()) == Bounds(
        lag=0, faults=0, crashes=0, rewind=0, failed=0, lost=0, handovers=0, atomic=True
    )
    given = Bounds(lag=3, faults=2, crashes=2)
    assert only(given, ["staleness"]).lag == 3
    assert only(given, ["staleness"]).tried == []
    assert only(given, ["crashes"]).tried == ["crashes"]
    assert only(given, ["crashes"]).lag == 0
    assert only(Bounds(lag=0), PERTURBATIONS) == Bounds(handovers=1)
    with pytest.raises(BadScenario, match=r"no perturbation is called crash \(did you mean crashes"):
        only(given, ["crash"])
