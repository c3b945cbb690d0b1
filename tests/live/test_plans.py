"""Plans: their derivation, pairs, simpler ones, and plan files."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.live.gate.call import Call, Point
from kontend.live.gate.decisions import Decisions
from kontend.live.gate.perturbation import (
    KINDS,
    Act,
    AtPoint,
    Crash,
    Delay,
    Down,
    Fail,
    HandOver,
    Hold,
    LoseResponse,
    Perturbation,
    Rewind,
    Skip,
)
from kontend.live.gate.plan import BadPlan, Plan, plan_of
from kontend.live.plans.derivation import pairs_of
from kontend.live.plans.shrinking import simpler

AT = Point(Call("create", "configmaps", "default", "c"))
LATER = Point(Call("update", "widgets.example.com", "default", "w", "status"), 2)
EXAMPLES: dict[str, Perturbation] = {
    "crash after create configmaps default/c": Crash(AT),
    "crash after the response of create configmaps default/c": Crash(AT, answered=True),
    "lost response of update widgets.example.com default/w status (number 2)": LoseResponse(LATER),
    "409 for create configmaps default/c": Fail(AT, "409"),
    "409 3 times for create configmaps default/c": Fail(AT, "409", 3),
    "504 after the commit for create configmaps default/c": Fail(AT, "timeout"),
    "next user action right after create configmaps default/c, not yet in the cache": Act(AT, unseen=True),
    "create configmaps default/c takes long": Delay(AT),
    "create configmaps default/c delayed until another instance has taken over and 2 user actions": HandOver(AT, 2),
    "cache of pods stale from action 1 until idle after action 2": Hold("pods", 1, 2, including=True),
    "cache of pods stale from after the start until 1 write": Hold("pods", 0, 0, writes=1),
    "watch of pods expires: actions 1 to 2 arrive as one": Skip("pods", 1, 2),
    "restart after action 2": Down(3, 2),
    "down during actions 1 to 2": Down(1, 2),
    "restart after action 1 onto a list of pods that is 3 events old": Rewind("pods", 1, 3),
    "restart after action 2 onto a list of pods that is 1 event old": Rewind("pods", 2, 1),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_perturbation_has_a_name_and_survives_a_plan_file(name: str) -> None:
    plan = Plan((EXAMPLES[name],), "why", actions=2)
    assert str(EXAMPLES[name]) == name
    assert plan_of(plan.to_json()) == plan


def test_every_kind_of_perturbation_is_among_the_examples() -> None:
    assert {type(example) for example in EXAMPLES.values()} == set(KINDS.values())


CALL = {"verb": "create", "resource": "configmaps"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected a mapping with a list of perturbations"),
        ({"perturbations": [], "action": 1}, "there is no field action"),
        ({"perturbations": [], "actions": -1}, "actions: expected a number from 0, found -1"),
        ({"perturbations": [{"do": "explode"}]}, "perturbations[0].do: expected one of crash, lose"),
        ({"perturbations": [{"do": "crash"}]}, "perturbations[0]: crash needs at"),
        ({"perturbations": [{"do": "crash", "at": CALL, "when": 1}]}, "perturbations[0]: crash has no field when"),
        ({"perturbations": [{"do": "crash", "at": {"verb": "create"}}]}, "perturbations[0].at: expected a call"),
        ({"perturbations": [{"do": "crash", "at": {**CALL, "nth": 0}}]}, "expected texts, and nth from 1"),
        ({"perturbations": [{"do": "crash", "at": {**CALL, "kind": "x"}}]}, "expected verb, resource, namespace"),
        ({"perturbations": [{"do": "crash", "at": CALL, "answered": 1}]}, "[0].answered: expected bool, found 1"),
        ({"perturbations": [{"do": "fail", "at": CALL, "error": 404}]}, "[0].error: expected one of 409, 429"),
        ({"perturbations": [{"do": "down", "first": True, "last": 1}]}, "[0].first: expected int, found True"),
        ({"perturbations": [{"do": "down", "first": -1, "last": 1}]}, "[0].first: expected a number from 0, found -1"),
    ],
)
def test_plan_files_that_cannot_be_read(document: Any, message: str) -> None:
    with pytest.raises(BadPlan) as error:
        plan_of(document)
    assert message in str(error.value)


def test_an_error_may_be_a_number_in_yaml() -> None:
    assert plan_of({"perturbations": [{"do": "fail", "at": CALL, "error": 409}]}).perturbations == (
        Fail(Point(Call("create", "configmaps")), "409"),
    )


def test_pairs_come_mildest_first_and_leave_out_what_cannot_happen_together() -> None:
    singles = [Plan((perturbation,), str(number)) for number, perturbation in enumerate(EXAMPLES.values())]
    pairs = [pair.perturbations for pair in pairs_of(singles)]
    assert len(pairs) == len(set(pairs)) > 20
    assert all(len(pair) == 2 for pair in pairs)
    places = list(EXAMPLES.values())
    sums = [places.index(one) + places.index(other) for one, other in pairs]
    assert sums == sorted(sums)
    for one, other in pairs:
        assert not (isinstance(one, AtPoint) and isinstance(other, AtPoint) and one.at == other.at)
    assert (Crash(AT), LoseResponse(LATER)) in pairs
    assert not any({type(one), type(other)} == {HandOver, Crash} for one, other in pairs)
    assert (Skip("pods", 1, 2), Down(1, 2)) not in pairs


def test_simpler_plans_have_fewer_perturbations_fewer_actions_and_shorter_holds() -> None:
    hold = Hold("pods", 1, 3)
    plan = Plan((hold, Crash(AT, answered=True)))
    found = list(simpler(plan, 4))
    assert found[:2] == [Plan((Crash(AT, answered=True),)), Plan((hold,))]
    assert found[2] == Plan(plan.perturbations, actions=3)
    holds = [plan.perturbations[0] for plan in found[3:-1]]
    assert holds == [
        Hold("pods", 1, 3, writes=1),
        Hold("pods", 1, 3, writes=2),
        Hold("pods", 1, 3, writes=3),
        Hold("pods", 1, 1),
        Hold("pods", 1, 2),
    ]
    assert found[-1].perturbations == (hold, Crash(AT))


def test_the_simplest_plan_has_nothing_simpler() -> None:
    assert list(simpler(Plan((Crash(AT),), actions=1), 3)) == []


def test_a_failure_that_lasts_ends_with_its_number_or_when_the_process_is_idle() -> None:
    fail = Fail(AT, "409", 3)
    decisions = Decisions([fail])
    assert [decisions.at_arrival(AT.call) for _ in range(4)] == [fail, fail, fail, None]
    decisions = Decisions([fail])
    assert decisions.at_arrival(AT.call) == fail
    decisions.end_repetitions()
    assert decisions.at_arrival(AT.call) is None
    assert decisions.waiting == []


def test_a_perturbation_on_arrival_counts_the_writes_before_it_that_have_changed_something() -> None:
    """The baseline has counted the same: attempts that were refused or changed nothing are not in it."""
    delay = Delay(LATER)
    decisions = Decisions([delay])
    assert [decisions.at_arrival(LATER.call) for _ in range(3)] == [None, None, None]
    decisions.after_commit(LATER.call)
    assert decisions.at_arrival(LATER.call) == delay


def test_a_simpler_failure_is_repeated_less_often() -> None:
    found = list(simpler(Plan((Fail(AT, "409", 3),), actions=1), 1))
    assert [plan.perturbations for plan in found] == [(Fail(AT, "409", 1),), (Fail(AT, "409", 2),)]
