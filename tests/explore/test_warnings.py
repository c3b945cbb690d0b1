"""Parts of a scenario that never take effect: actions, perturbations of plans, and expressions without a value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from definitions import definition
from explore.widgets import LockedWidgets, double_plan
from kontend.cli import main
from kontend.explore import BadScenario, Scenario, check, create, update
from kontend.explore.actions import Action, Writer
from kontend.explore.planned.plan import plan_of
from kontend.explore.planned.running import explore_plan
from kontend.explore.properties.expressions import property_of

PLAIN = double_plan(LockedWidgets(), lag=0)
WIDGET: Any = PLAIN.objects[0]
KIND = "Widget.example.com/v1"
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "open": {"type": "object"}}}
SPEC["properties"]["open"]["x-kubernetes-preserve-unknown-fields"] = True  # type: ignore[index]
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": SPEC,
        "status": {
            "type": "object",
            "properties": {
                "plan": {"type": "object", "properties": {"id": {"type": "string"}}},
                "conditions": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"type": {"type": "string"}}},
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    },
}


def warnings(*actions: Action, **more: Any) -> list[str]:
    return check(replace(PLAIN, actions=list(actions), **more)).warnings


def test_an_action_whose_condition_never_holds_is_a_warning_and_so_are_those_behind_it() -> None:
    first = update(WIDGET, spec={"size": 2}, when=lambda _: False)
    assert [text.partition(": ")[2] for text in warnings(first, update(WIDGET, spec={"size": 3}))] == [
        "the action 'changes Widget default/w: spec' never happens: its condition never holds",
        "the action 'changes Widget default/w: spec' never happens: it comes after 'changes Widget default/w: spec'",
    ]


def test_an_action_that_is_retried_and_never_accepted_is_a_warning() -> None:
    assert warnings(create(WIDGET, retry=True))[0].endswith("never happens: the server never accepts it")


def test_an_action_of_another_user_is_a_warning_too() -> None:
    writer = Writer("autoscaler", [update(WIDGET, spec={"size": 2}, when=lambda _: False)])
    assert len(warnings(update(WIDGET, spec={"size": 3}), writers=[writer])) == 1


def test_actions_that_happen_are_no_warning() -> None:
    assert not warnings(update(WIDGET, spec={"size": 2}, when=lambda cluster: bool(cluster.list(KIND))))


@pytest.mark.parametrize(
    ("plan", "warning"),
    [
        (
            {"faultInjection": [{"reconciler": "widgets", "crashAfterEffect": 7}]},
            "faultInjection: no run comes to a crash of widgets after 7 writes of one reconcile, from depth 0 on",
        ),
        (
            {"stalenessIntervals": [{"reconciler": "widgets", "kind": KIND, "staleAt": 50}]},
            f"stalenessIntervals: {KIND} in widgets misses nothing from sequence 50 on",
        ),
        ({"userActionReadyDepths": {0: 40}}, "userActionReadyDepths: action 0 is not taken because of depth 40"),
        (
            {"permuteControllers": ["widgets"], "permuteDepthRange": {"min": 30, "max": 40}},
            "permuteControllers: there is no moment to start widgets out of order",
        ),
        ({"faultInjection": [{"reconciler": "widgets", "crashAfterEffect": 0}]}, ""),
    ],
)
def test_a_perturbation_of_a_plan_that_never_takes_effect_is_a_warning(plan: Any, warning: str) -> None:
    scenario = replace(PLAIN, actions=[update(WIDGET, spec={"size": 2})])
    verdict = explore_plan(scenario, plan_of(plan, "plan"))
    assert verdict.warnings == ([warning] if warning else [])


def asking(expression: str, *, kind: str | None = KIND, mode: str = "never", schema: Any = None) -> Scenario:
    document = {mode: expression, **({"kind": kind} if kind else {})}
    crds = PLAIN.crds if schema is None else [definition("Widget", schema={"openAPIV3Schema": schema})]
    return replace(PLAIN, crds=crds, properties=[property_of(document, "here", (KIND,))])


def test_an_expression_without_a_value_in_any_state_is_a_warning() -> None:
    verdict = check(asking("object.staus.plan.id == ''"))
    assert verdict.ok
    assert verdict.warnings == [
        "never(object.staus.plan.id == '') has no value in any state that was visited: "
        "is a field misspelled, or are there no objects of the kind?"
    ]


def test_an_expression_that_has_a_value_later_is_no_warning() -> None:
    assert not check(asking("object.status.plan.id == ''")).warnings


@pytest.mark.parametrize(
    ("expression", "unknown"),
    [
        ("object.staus.plan.id == ''", "object.staus: no schema has the field staus (did you mean status?)"),
        ("object.status.plan.idd == ''", "object.status.plan.idd: no schema has the field idd (did you mean id?)"),
        ("has(object.spec.siz)", "object.spec.siz: no schema has the field siz (did you mean size?)"),
        ("object.metadata.nmae == 'w'", "object.metadata.nmae: no schema has the field nmae (did you mean name?)"),
        ("object.status.conditions.exists(c, c.typ == 'Ready')", "c.typ: no schema has the field typ"),
        ("object.status.conditions[0].typ == 'Ready'", "object.status.conditions[0].typ: no schema has"),
        ("object.?status.?plann.orValue('') == ''", "object.?status.?plann: no schema has the field plann"),
        ("object.?status.plann.hasValue()", "object.?status.plann: no schema has the field plann"),
        ("object.spec['siz'] > 1", "object.spec['siz']: no schema has the field siz (did you mean size?)"),
        ("object.spec.size == 'large'", "object.spec.size: a value of type integer is never equal to 'large'"),
        ("5 != object.metadata.name", "object.metadata.name: a value of type string is never equal to 5"),
        ("object.spec.size == true", "object.spec.size: a value of type integer is never equal to True"),
    ],
)
def test_a_field_that_the_schema_does_not_have_is_an_error(expression: str, unknown: str) -> None:
    with pytest.raises(BadScenario) as raised:
        check(asking(expression, schema=SCHEMA))
    assert f"here: {unknown}" in str(raised.value)


def test_fields_of_objects_by_kind_are_checked_too() -> None:
    with pytest.raises(BadScenario, match=r"w.spec.siz: no schema has the field siz"):
        check(asking(f'objects["{KIND}"].all(w, w.spec.siz > 0)', kind=None, schema=SCHEMA))
    with pytest.raises(BadScenario, match=r"no schema has the field replica .did you mean replicas"):
        check(asking('objects["Deployment.apps/v1"].all(d, d.spec.replica > 0)', kind=None))


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.open.anything.at.all == 1",
        "object.status.labels.any == 'x'",
        "object.metadata.labels.any == 'x'",
        "object.kind == 'Widget' && object.status.conditions.map(c, c.type).size() > 9",
        "object.status.conditions.sortBy(c, c.type).size() > 9",
        "object.status.?labels.?any.orValue('') == 'x'",
        "object.metadata.labels['any'] == 'x'",
        "object.spec.size == 77 || object.spec.size == 77.5 || object.?status == null",
    ],
)
def test_fields_that_a_schema_leaves_open_are_allowed(expression: str) -> None:
    assert check(asking(expression, schema=SCHEMA)).ok


def test_strict_makes_a_warning_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "waits.py").write_text(
        "from dataclasses import replace\n"
        "from kontend.explore import update\n"
        "from explore.widgets import LockedWidgets, WIDGET, double_plan\n"
        "never = update(WIDGET, spec={'size': 2}, when=lambda cluster: False)\n"
        "waits = replace(double_plan(LockedWidgets(), lag=0), actions=[never])\n"
    )
    command = ["explore", str(tmp_path / "waits.py"), "--one-process"]
    assert main(command) == 0
    assert "\nwarning: " in capsys.readouterr().out
    assert main([*command, "--strict"]) == 3
