"""``@reproduce`` follows a recorded counterexample in a test."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import orjson
import pytest

from explore.samples import SIGNED, Fails, Toggles
from explore.widgets import CRD, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import BadScenario, BadToken, Bounds, Scenario, Verdict, check, eventually, reproduce, update
from kontend.explore.trace.token import read_token, token_of
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

BLIND = double_plan(Widgets(), lag=0, concurrent=2)
LOCKED = double_plan(LockedWidgets(), lag=0, concurrent=2)


def _token(scenario: Scenario, name: str, **options: Any) -> str:
    (violation,) = [violation for violation in check(scenario, **options).violations if violation.property == name]
    return token_of(violation.property, violation.schedule, scenario.bounds)


def _followed(token: str, scenario: Scenario) -> Verdict:
    """The verdict of check in a test with this token."""
    return reproduce(token)(lambda: check(scenario))()


PLANS = _token(BLIND, "one_plan")


# Tokens


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_every_violation_has_a_token_that_reproduces_it(search: Any) -> None:
    for scenario in (BLIND, SIGNED):
        for violation in check(scenario, search=search, walks=100).violations:
            verdict = _followed(token_of(violation.property, violation.schedule, scenario.bounds), scenario)
            (again,) = [other for other in verdict.violations if other.property == violation.property]
            assert (again.trace, again.sentence, again.how) == (violation.trace, violation.sentence, "given")


def test_a_token_holds_the_property_the_schedule_and_the_bounds() -> None:
    (violation,) = [violation for violation in check(BLIND).violations if violation.property == "one_plan"]
    recorded = read_token(PLANS)
    assert (recorded.property, recorded.schedule) == ("one_plan", violation.schedule)
    assert recorded.bounds == {
        "lag": 0,
        "concurrent": 2,
        "atomic": False,
        "faults": 0,
        "crashes": 1,
        "rewind": 1,
        "failed": 1,
        "lost": 1,
        "handovers": 0,
        "instances": {},
        "identities": 0,
    }
    assert len(PLANS) < 150
    assert PLANS.replace("-", "").replace("_", "").isalnum()


def _packed(document: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(orjson.dumps(document))).decode()


@pytest.mark.parametrize(
    "token",
    [
        "",
        "AXic",
        "not a token",
        "ünïcode",
        PLANS[:-4],
        PLANS[10:],
        _packed({}),
        _packed(["one_plan", [0, 2, False]]),
        _packed(["one_plan", [0, 2], []]),
        _packed(["one_plan", [0, 0, False], []]),
        _packed(["one_plan", [0, 2, False], [["start"]]]),
        _packed([1, [0, 2, False], []]),
        5,
    ],
)
def test_text_that_is_no_token_is_refused(token: Any) -> None:
    with pytest.raises(BadToken, match="is not a token of a counterexample: "):
        reproduce(token)


# In a test


def test_check_only_follows_the_schedule() -> None:
    verdict = _followed(PLANS, BLIND)
    assert {violation.property for violation in verdict.violations} == {"one_plan", "lost update"}
    assert (verdict.ok, verdict.exhausted, verdict.stopped) == (False, False, "it only followed a recorded schedule")
    assert (verdict.states, verdict.steps) == (7, 6)
    assert "lost update, one_plan: violated after 6 steps (given, " in str(verdict)


def test_the_bounds_are_those_in_which_it_was_found() -> None:
    verdict = _followed(PLANS, replace(BLIND, bounds=Bounds(faults=0, lag=2, concurrent=1)))
    assert verdict.bounds == "lag ≤ 0, 2 instances"


def test_the_arguments_and_the_name_of_the_test_are_kept() -> None:
    @reproduce(PLANS)
    def test_something(one: int, *, two: int) -> int:
        """Its docstring."""
        assert check(BLIND).violations
        return one + two

    assert test_something(1, two=2) == 3
    assert (test_something.__name__, test_something.__doc__) == ("test_something", "Its docstring.")


@pytest.fixture
def scenario() -> Scenario:
    """The race, as a fixture."""
    return BLIND


@reproduce(PLANS)
def test_with_a_fixture(scenario: Scenario) -> None:
    assert not check(scenario).ok


def test_after_the_test_check_searches_again() -> None:
    _followed(PLANS, BLIND)
    with pytest.raises(ZeroDivisionError):
        reproduce(PLANS)(lambda: 1 // 0)()
    assert check(LOCKED).ok


def test_a_test_that_never_checks_anything_fails() -> None:
    @reproduce(PLANS)
    def test_nothing() -> None:
        """Do nothing."""

    with pytest.raises(AssertionError, match="test_nothing never called check, so nothing was reproduced"):
        test_nothing()


def test_an_async_function_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a function of plain def, later is an async one"):

        @reproduce(PLANS)
        async def later() -> None:
            check(BLIND)


# Changes since the recording


def test_a_test_passes_once_the_bug_is_fixed() -> None:
    verdict = _followed(PLANS, LOCKED)
    assert verdict
    assert str(verdict).startswith("not reproduced: all 6 steps happen, but one_plan holds: nothing is violated\n")


class Reads(Widgets):
    """Makes no plans."""

    name = "widgets"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read the widget."""
        await api.get(self.kind, request)


def test_a_test_passes_where_a_step_does_not_happen_any_more() -> None:
    verdict = _followed(PLANS, double_plan(Reads(), lag=0, concurrent=2))
    assert verdict
    assert verdict.not_reproduced == "step 5 (the next call of widgets#1 for default/w) does not happen any more"


def test_a_schedule_that_is_cut_short_violates_nothing() -> None:
    token = _packed(["one_plan", [0, 2, False], _written(PLANS)[:-1]])
    assert _followed(token, BLIND).not_reproduced == "all 5 steps happen, but one_plan holds: nothing is violated"


def _written(token: str) -> Any:
    return orjson.loads(zlib.decompress(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))[2]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (["start", 7, ["default", "w"], 0], "controller 8 starts default/w"),
        (["retry", 0, ["default", "w"], 0], "widgets#1 retries default/w"),
        (["call", 0, ["default", "w"], 0], "the next call of widgets#1 for default/w"),
        (["deliver", 1, "Widget.example.com/v1", 0], "widgets#2 sees the next event of Widget.example.com/v1"),
        (["relist", 1, "Widget.example.com/v1", 0], "widgets#2 lists Widget.example.com/v1 again"),
        (["act", -1, None, 0], "the user's next action"),
        (["fly", 0, None, 0], "fly of widgets#1"),
    ],
)
def test_a_step_that_is_not_enabled_is_described(step: Any, words: str) -> None:
    verdict = _followed(_packed(["one_plan", [0, 2, False], [step]]), BLIND)
    assert verdict.not_reproduced == f"step 1 ({words}) does not happen any more"


def test_a_property_that_is_gone_is_named() -> None:
    with pytest.raises(BadScenario, match="no property is called one_plan; there are: exception, lost update"):
        _followed(PLANS, replace(BLIND, properties=[]))


# Violations by everything that can happen after a schedule


def _of(controller: Controller, **options: Any) -> Scenario:
    return Scenario(
        [controller], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED, **options
    )


def _never(cluster: Cluster) -> bool:
    return not cluster.list("Widget.example.com/v1")


@pytest.mark.parametrize(
    ("scenario", "name"),
    [
        (_of(Toggles()), "never settles"),
        (_of(Toggles(), properties=[eventually(_never)]), "_never"),
        (_of(Fails()), "fails forever"),
        (_of(Fails(), actions=[update(WIDGET, spec={"a": 1})]), "fails forever"),
    ],
)
def test_livelocks_are_searched_for_after_the_schedule(scenario: Scenario, name: str) -> None:
    (livelock,) = [violation for violation in check(scenario).violations if violation.property == name]
    verdict = _followed(token_of(livelock.property, livelock.schedule, scenario.bounds), scenario)
    assert [(violation.property, violation.sentence, violation.trace) for violation in verdict.violations] == [
        (name, livelock.sentence, livelock.trace)
    ]


class TogglesLater(Toggles):
    """Toggles once the user has set a spec."""

    name = "toggles"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Toggle if there is a spec."""
        if (await api.get(self.kind, request))["spec"]:
            await super().reconcile(request, api)


def test_a_livelock_that_needs_more_steps_is_another_counterexample() -> None:
    later = _of(TogglesLater(), actions=[update(WIDGET, spec={"a": 1})])
    assert "never settles" in {violation.property for violation in check(later).violations}
    token = _packed(["never settles", [0, 1, False], [["start", 0, ["default", "w"], 0]]])
    verdict = _followed(token, later)
    assert verdict.not_reproduced == "all 1 steps happen, but never settles holds: nothing is violated"


def test_a_livelock_that_cannot_be_searched_for_is_not_confirmed() -> None:
    scenario = _of(Toggles())
    small = replace(scenario, bounds=Bounds(faults=0, lag=0, states=1))
    verdict = _followed(_token(scenario, "never settles"), small)
    assert not verdict
    assert "the search of what can happen after the steps stopped, because the limit of 1 states" in verdict.stopped
