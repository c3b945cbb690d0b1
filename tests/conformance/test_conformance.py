"""The API server answers what a real kube-apiserver 1.35 answered, case by case."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest

from conformance.in_process import Busy, InProcess
from conformance.replayer import first_difference, load, play

FILES = (
    "apply",
    "builtin",
    "custom",
    "delete",
    "listwatch",
    "metadata",
    "patch",
    "random",
    "status",
    "versions",
)
WIDE = ("wide-kinds", "wide-definitions", "validation", "requests", "breadth")
#: Cases that cannot agree here, each with its reason.
UNREPEATABLE = {
    "wide/csidriver-1008": "a page ends because other cases had made drivers with later names",
    "wide/ingressclass-1021": "a page ends because other cases had made ingress classes with later names",
    "wide/crd-273": "recorded as a failure of the recorder, which takes a page of text for events",
}
CASES = [pytest.param(case, id=case["id"]) for name in FILES for case in load(name)]


WIDE_CASES = [
    pytest.param(case, id=case["id"]) for name in WIDE for case in load(name) if case["id"] not in UNREPEATABLE
]


@pytest.fixture(scope="module")
def busy() -> Busy:
    """One server for the wide cases, with a neighbour who writes all the time."""
    return Busy()


@pytest.fixture(scope="module")
def server() -> InProcess:
    """One server for all cases: each has a namespace of its own, as it had when it was recorded."""
    return InProcess()


@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_of_kube_apiserver(server: InProcess, case: dict[str, Any]) -> None:
    """Every step of the case gives the recorded answer, managedFields included."""
    answers = play(server, case)
    step = first_difference(case["answers"], answers)
    assert step is None, _explain(case, step, answers)


@pytest.mark.parametrize("case", WIDE_CASES)
def test_the_answers_are_those_of_kube_apiserver_for_every_kind(busy: Busy, case: dict[str, Any]) -> None:
    """The same for 52 built-in resources, for random definitions, and for objects that are wrong in many ways."""
    answers = play(busy, case)
    step = first_difference(case["answers"], answers)
    assert step is None, _explain(case, step, answers)


def test_the_number_of_cases_is_what_was_recorded() -> None:
    """No case got lost."""
    assert len(CASES) == 655
    assert len(WIDE_CASES) + len(UNREPEATABLE) == 433 + 161 + 36 + 33


def _explain(case: dict[str, Any], step: int, answers: list[Any]) -> str:
    want, got = (json.dumps(side[step], indent=1, sort_keys=True).splitlines() for side in (case["answers"], answers))
    lines = difflib.unified_diff(want, got, "kube-apiserver", "kontend", lineterm="", n=2)
    return f"step {step}: {json.dumps(case['steps'][step])}\n" + "\n".join(lines)
