"""A counterexample that was found once is followed again in a test."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import orjson
import pytest

from explore.test_search import Fails, Toggles
from explore.test_walks import SIGNED
from explore.widgets import CRD, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import BadToken, Bounds, Scenario, Verdict, check, eventually, reproduce, update
from kontend.explore.trace.token import read_token, token_of
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

BLIND = double_plan(Widgets(), lag=0, concurrent=2)
LOCKED = double_plan(LockedWidgets(), lag=0, concurrent=2)


def _token(scenario: Scenario, name: str, **options: Any) -> str:
    (violation,) = [each for each in check(scenario, **options).violations if each.property == name]
    return token_of(violation.property, violation.schedule, scenario.bounds)


def _followed(token: str, scenario: Scenario) -> Verdict:
    """What check says in a test with this token."""
    return reproduce(token)(lambda: check(scenario))()


PLANS = _token(BLIND, "one_plan")


# Tokens


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_every_violation_has_a_token_that_reproduces_it(search: Any) -> None:
    for scenario in (BLIND, SIGNED):
        for violation in check(scenario, search=search, walks=100).violations:
            verdict = _followed(token_of(violation.property, violation.schedule, scenario.bounds), scenario)
            (again,) = [each for each in verdict.violations if each.property == violation.property]
            assert (again.trace, again.sentence, again.how) == (violation.trace, violation.sentence, "given")


def test_a_token_says_what_was_put_into_it() -> None:
    (violation,) = [each for each in check(BLIND).violations if each.property == "one_plan"]
    story = read_token(PLANS)
    assert (story.property, story.schedule) == ("one_plan", violation.schedule)
    assert story.bounds == {"lag": 0, "concurrent": 2, "atomic": False}
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
def test_what_is_no_token_is_refused_where_it_stands(token: Any) -> None:
    with pytest.raises(BadToken, match="is no token of a counterexample: "):
        reproduce(token)


# In a test


def test_check_only_follows_the_story() -> None:
    verdict = _followed(PLANS, BLIND)
    assert {each.property for each in verdict.violations} == {"one_plan", "lost update"}
    assert (verdict.ok, verdict.exhausted, verdict.stopped) == (False, False, "it only followed a story")
    assert (verdict.states, verdict.steps) == (7, 6)
    assert "one_plan: violated after 6 moves (given)\n" in str(verdict)


def test_the_bounds_are_those_in_which_it_was_found() -> None:
    verdict = _followed(PLANS, replace(BLIND, bounds=Bounds(lag=2, concurrent=1)))
    assert verdict.bounds == "lag ≤ 0, concurrent ≤ 2"


def test_arguments_and_the_name_of_the_test_stay() -> None:
    """So that pytest sees the fixtures."""

    @reproduce(PLANS)
    def test_something(one: int, *, two: int) -> int:
        """Its docstring."""
        check(BLIND)
        return one + two

    assert test_something(1, two=2) == 3
    assert (test_something.__name__, test_something.__doc__) == ("test_something", "Its docstring.")


@pytest.fixture
def scenario() -> Scenario:
    """A fixture for the next test."""
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
        """It only looks like a test."""

    with pytest.raises(AssertionError, match="test_nothing never called check, so nothing was reproduced"):
        test_nothing()


def test_an_async_function_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a function of plain def, later is an async one"):

        @reproduce(PLANS)
        async def later() -> None:
            check(BLIND)


# What has changed meanwhile


def test_a_bug_that_is_gone_is_told() -> None:
    message = (
        "the bug is gone, or the way to it has changed: all 6 moves are possible, but one_plan holds: "
        r"nothing is violated\nIf that is right, remove @reproduce\."
    )
    with pytest.raises(AssertionError, match=message):
        _followed(PLANS, LOCKED)


class Reads(Widgets):
    """Makes no plans any more."""

    name = "widgets"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Only look."""
        await api.get(self.kind, request)


def test_a_way_that_is_not_there_any_more_is_told() -> None:
    message = (
        r"the bug is gone, or the way to it has changed: move 5, the next call of widgets#1, is not possible\. "
        r"Possible here: nothing\nIf that is right, remove @reproduce\."
    )
    with pytest.raises(AssertionError, match=message):
        _followed(PLANS, double_plan(Reads(), lag=0, concurrent=2))


def test_a_story_that_is_cut_short_violates_nothing() -> None:
    token = _packed(["one_plan", [0, 2, False], _written(PLANS)[:-1]])
    with pytest.raises(AssertionError, match="all 5 moves are possible, but one_plan holds: nothing is violated"):
        _followed(token, BLIND)


def _written(token: str) -> Any:
    return orjson.loads(zlib.decompress(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))[2]


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (["start", 7, ["default", "w"]], "controller 8 starts default/w"),
        (["retry", 0, ["default", "w"]], "widgets#1 will retry default/w"),
        (["deliver", 1, 0], "widgets#2 sees the next event of Widget.example.com/v1"),
        (["deliver", 1, 9], "widgets#2 sees the next event of a kind it had"),
        (["act", -1, None], "the user's next action"),
        (["fly", 0, None], "widgets#1 starts None"),
    ],
)
def test_a_move_that_is_not_possible_is_told_in_words(move: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=f"move 1, {words}, is not possible. Possible here:\n  widgets#1 starts"):
        _followed(_packed(["one_plan", [0, 2, False], [move]]), BLIND)


def test_a_property_that_there_is_not_any_more_is_told() -> None:
    with pytest.raises(AssertionError, match="no property is called one_plan; there are: lost update"):
        _followed(PLANS, replace(BLIND, properties=[]))


# What never ends


def _of(controller: Controller, **options: Any) -> Scenario:
    return Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=UNGUARDED, **options)


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
def test_what_never_ends_is_searched_for_from_the_end_of_the_story(scenario: Scenario, name: str) -> None:
    (found,) = [each for each in check(scenario).violations if each.property == name]
    verdict = _followed(token_of(found.property, found.schedule, scenario.bounds), scenario)
    assert [(each.property, each.sentence, each.trace) for each in verdict.violations] == [
        (name, found.sentence, found.trace)
    ]


class TogglesLater(Toggles):
    """The same, once the user has asked for it."""

    name = "toggles"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Turn the switch if that is wanted."""
        if (await api.get(self.kind, request))["spec"]:
            await super().reconcile(request, api)


def test_what_ends_by_now_is_told() -> None:
    """It would be another story in which the user acts first."""
    later = _of(TogglesLater(), actions=[update(WIDGET, spec={"a": 1})])
    assert "never settles" in {each.property for each in check(later).violations}
    token = _packed(["never settles", [0, 1, False], [["start", 0, ["default", "w"]]]])
    with pytest.raises(AssertionError, match="1 moves are possible, but settles holds: nothing is violated"):
        _followed(token, later)


def test_an_end_that_cannot_be_searched_for_is_told() -> None:
    scenario = _of(Toggles())
    small = replace(scenario, bounds=Bounds(lag=0, states=1))
    with pytest.raises(AssertionError, match="was not searched to the end, because the limit of 1 worlds was reached"):
        _followed(_token(scenario, "never settles"), small)
