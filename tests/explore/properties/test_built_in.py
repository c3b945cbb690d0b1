"""Programming errors are reported as exceptions, once and first; livelocks and failures by what happens in them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, Verdict, check, update
from kontend.explore.program.progress import Failure
from kontend.explore.properties.built_in import initially_broken, never_settles, raised, still_writes
from kontend.kube.errors import Conflict
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

HERE = Path(__file__).name


def _explored(controller: Controller, **options: Any) -> Verdict:
    bounds = options.pop("bounds", Bounds(faults=0, lag=1, states=5_000))
    return check(Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED), **options)


class Raises(Controller):
    """Raises an error after a read."""

    kind = KIND
    name = "raises"

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and raise."""
        await api.get(self.kind, request)
        raise self.error  # raises it


@pytest.mark.parametrize(
    "error",
    [
        TypeError("no"),
        KeyError("image"),
        IndexError("no"),
        AttributeError("no"),
        NameError("no"),
        ZeroDivisionError("no"),
        AssertionError("no"),
        NotImplementedError("no"),
        RecursionError("no"),
        UnicodeError("no"),
    ],
)
def test_a_programming_error_is_an_exception_with_its_line_and_its_traceback(error: Exception) -> None:
    verdict = _explored(Raises(error))
    (violation,) = verdict.violations
    assert violation.property == "exception"
    assert violation.sentence.startswith(f"the reconcile of default/w by raises raised {type(error).__name__}: ")
    assert re.search(rf'File ".*{HERE}", line \d+, in reconcile\n +raise self\.error', violation.sentence)
    assert len(violation.trace) == 2
    assert verdict.stopped == "a reconcile keeps raising the same exception"
    assert not verdict.ok


@pytest.mark.parametrize("error", [RuntimeError("no"), ValueError("no"), OSError("no"), TimeoutError("no")])
def test_an_error_that_asks_for_a_retry_is_no_programming_error(error: Exception) -> None:
    verdict = _explored(Raises(error))
    (violation,) = verdict.violations
    assert violation.property == "fails forever"
    assert f"{type(error).__name__}: no" in violation.sentence


def test_an_api_error_is_no_programming_error() -> None:
    assert [violation.property for violation in _explored(Raises(Conflict("changed"))).violations] == ["fails forever"]


class CreatesAndRaises(Controller):
    """Creates an object with a generated name, and then raises: every retry makes another object."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create, and raise."""
        await api.get(self.kind, request)
        metadata = {"generateName": "c-", "namespace": "default"}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        raise TypeError("a bug")


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_a_programming_error_after_a_write_is_reported_and_the_search_ends(search: Any) -> None:
    verdict = _explored(CreatesAndRaises(), search=search, walks=20)
    assert [violation.property for violation in verdict.violations] == ["exception"]
    assert "TypeError: a bug" in str(verdict)


class RaisesWhenStale(Controller):
    """Raises a programming error only where its cache is stale, and loses an update elsewhere."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Compare the cache with the server, and write without a lock."""
        cached, live = await api.get(self.kind, request), await api.live.get(self.kind, request)
        if cached["metadata"].get("labels") != live["metadata"].get("labels"):
            raise KeyError("labels")
        if not (live["metadata"].get("labels") or {}).get("done"):
            base = copy.deepcopy(live)
            live["metadata"]["labels"] = {"a": "done", "done": "1"}
            await api.patch(live, merge_from(base))


def test_an_exception_is_the_first_violation_and_others_are_still_reported() -> None:
    scenario = Scenario(
        [RaisesWhenStale()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}})],
        bounds=Bounds(faults=0, lag=1),
        guards=UNGUARDED,
    )
    names = [violation.property for violation in check(scenario).violations]
    assert names[0] == "exception"
    assert "lost update" in names


class RaisesOnce(Controller):
    """Raises a programming error in its first run only."""

    kind = KIND
    memory = ("tried",)
    tried = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Raise once."""
        await api.get(self.kind, request)
        if not self.tried:
            self.tried = True
            raise KeyError("first")


def test_a_programming_error_that_does_not_come_back_leaves_the_space_exhausted() -> None:
    verdict = _explored(RaisesOnce())
    assert [violation.property for violation in verdict.violations] == ["exception"]
    assert verdict.exhausted


@pytest.mark.parametrize(
    ("states", "text"), [(1, "this state leads only to itself"), (2, "2 states lead only to each other")]
)
def test_states_that_are_never_left_are_counted(states: int, text: str) -> None:
    finding = never_settles(states, "", perturbed=True)
    assert finding.sentence.endswith(text)


@pytest.mark.parametrize(
    ("perturbed", "waits", "text"),
    [
        (True, False, "whatever happens"),
        (False, False, "as long as nothing perturbs them"),
        (True, True, "as long as no user acts"),
        (False, True, "as long as no user acts and nothing perturbs them"),
    ],
)
def test_a_livelock_says_on_what_it_depends(perturbed: bool, waits: bool, text: str) -> None:
    finding = never_settles(1, "", perturbed=perturbed, waits=waits)
    assert finding.sentence == f"from here the controllers never stop writing, {text}: this state leads only to itself"


def test_an_exception_without_a_traceback_is_one_line() -> None:
    plain = raised("one", "default/w", Failure("ValueError", "no"))
    assert plain.sentence == "the reconcile of default/w by one raised ValueError: no"
    traced = raised("one", "default/w", Failure("ValueError", "no", traceback="file.py:3"))
    assert traced.sentence == "the reconcile of default/w by one raised ValueError: no\nfile.py:3"


def test_an_invariant_that_is_broken_from_the_start_says_so() -> None:
    assert initially_broken("one plan") == ("one plan", "one plan is broken in the initial state", None)


@pytest.mark.parametrize(("end", "cycle"), [(4, "step 4 repeats step 3"), (5, "steps 4 to 5 repeat")])
def test_a_run_that_writes_on_names_the_steps_that_repeat(end: int, cycle: str) -> None:
    assert still_writes(7, 3, end).sentence == (
        f"an unperturbed run still writes after 7 writes: {cycle} again and again, with other numbers"
    )
