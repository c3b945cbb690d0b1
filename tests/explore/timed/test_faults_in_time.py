"""Faults in virtual time: failed calls, lost responses and crashes, all drawn from the seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from kontend import AlreadyExists, Api, Controller, Request
from kontend.explore import BadScenario, Scenario
from kontend.explore.timed.simulation import simulate
from kontend.explore.timed.timing import Duration, Timing, share

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def secret(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


class Pairs(Controller):
    """Creates two secrets, the second one only after the first one is new."""

    kind = "ConfigMap/v1"
    memory: ClassVar[Sequence[str]] = ("runs",)
    runs: int = 0
    handled: ClassVar[list[int]] = []

    async def reconcile(self, request: Request, api: Api) -> None:
        del request
        self.runs += 1
        try:
            await api.create(secret("one"))
        except AlreadyExists:
            return
        try:
            await api.create(secret("two"))
        except Exception:
            self.handled.append(self.runs)
            raise


class Both(Controller):
    """Creates two secrets, whatever is there."""

    kind = "ConfigMap/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        del request
        for name in ("one", "two"):
            try:
                await api.create(secret(name))
            except AlreadyExists:
                continue


def secrets(controller: Controller, timing: Timing, seed: int) -> tuple[str, int]:
    """The end of a run, and how many secrets there are then."""
    run = simulate(Scenario([controller], objects=[CONFIG]), timing, seed=seed)
    return run.end, len(run.cluster.list("Secret/v1"))


def test_a_crash_between_two_writes_leaves_one_of_them() -> None:
    timing = Timing(
        call=Duration(1.0), start=Duration(0.0), crash=Duration(0.9, 1.1), restart=Duration(0.5), horizon=10.0
    )
    Pairs.handled.clear()
    run = simulate(Scenario([Pairs()], objects=[CONFIG]), timing)
    assert [secret["metadata"]["name"] for secret in run.cluster.list("Secret/v1")] == ["one"]
    assert run.reconciles[0].error == "the instance crashes"
    assert Pairs.handled == []  # nothing of the reconcile runs after the crash, not even its handlers
    assert secrets(Both(), timing, 0) == ("heals", 2)


def test_a_restarted_instance_lists_again_and_has_its_first_memory() -> None:
    seen: list[int] = []

    class Counts(Controller):
        kind = "ConfigMap/v1"
        memory: ClassVar[Sequence[str]] = ("runs",)
        runs: int = 0

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.live.get(self.kind, request)
            self.runs += 1
            seen.append(self.runs)
            await api.live.get(self.kind, request)

    timing = Timing(call=Duration(1.0), start=Duration(0.0), crash=Duration(1.5), restart=Duration(10.0), horizon=20.0)
    run = simulate(Scenario([Counts()], objects=[CONFIG]), timing)
    assert seen == [1, 1]
    assert [round(reconcile.begin) for reconcile in run.reconciles] == [0, 12]
    assert run.end == "heals"


def test_failed_calls_are_retried_until_nothing_fails_any_more() -> None:
    ends = {secrets(Both(), Timing(failed=0.5), seed) for seed in range(5)}
    assert ends <= {("heals", 2), ("settles", 2)}
    assert ("heals", 2) in ends
    assert secrets(Both(), Timing(failed=1.0, first_retry=1.0, horizon=100.0), 0) == ("heals", 2)


def test_a_lost_response_comes_after_the_write() -> None:
    run = simulate(Scenario([Pairs()], objects=[CONFIG]), Timing(lost=1.0))
    assert [secret["metadata"]["name"] for secret in run.cluster.list("Secret/v1")] == ["one"]
    assert run.reconciles[0].writes[0][2].isdigit()
    assert run.reconciles[0].error.startswith("AnswerLost")


def test_a_seed_gives_the_same_faults_again() -> None:
    timing = Timing(failed=0.2, lost=0.2, crash=Duration(0.01, 0.1))
    runs = [simulate(Scenario([Both()], objects=[CONFIG]), timing, seed=3) for _ in range(2)]
    assert [(reconcile.begin, reconcile.end, reconcile.error) for reconcile in runs[0].reconciles] == [
        (reconcile.begin, reconcile.end, reconcile.error) for reconcile in runs[1].reconciles
    ]
    assert any(reconcile.error for reconcile in runs[0].reconciles)


@pytest.mark.parametrize("text", ["-1%", "101%", "2", "x", ""])
def test_a_share_is_between_none_and_all(text: str) -> None:
    with pytest.raises(BadScenario, match="expected a share such as 5%"):
        share(text)
