"""Runs in virtual time: durations, retries and rest."""

import asyncio
from typing import Any, ClassVar

import pytest

from kontend import Api, Controller, Guards, Request, Result
from kontend.explore import BadScenario, Bounds, Scenario, Writer, always, create, eventually, update
from kontend.explore.timed.simulation import simulate
from kontend.explore.timed.sweep import parse_sweep, sweep
from kontend.explore.timed.timing import Duration, Timing, duration, seconds
from kontend.predicates import Predicate, Where

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"n": "0"}}
EXACT = Timing(call=Duration(0.2), start=Duration(0.0))


class Copies(Controller):
    """Copies the number to a label, after some work."""

    kind = "ConfigMap/v1"
    work: float = 3.0

    async def reconcile(self, request: Request, api: Api) -> None:
        config = await api.get(self.kind, request)
        if config["metadata"].get("labels", {}).get("n") != config["data"]["n"]:
            await asyncio.sleep(self.work)
            config["metadata"]["labels"] = {"n": config["data"]["n"]}
            await api.update(config)


class Fails(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        await api.get(self.kind, request)
        raise RuntimeError("no")


class Looks(Controller):
    """Looks again every minute, and writes nothing."""

    kind = "ConfigMap/v1"

    async def reconcile(self, request: Request, api: Api) -> Result:
        await api.get(self.kind, request)
        return Result(requeue_after=60)


class Stamps(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request: Request, api: Api) -> Result:
        config = await api.get(self.kind, request)
        config["data"]["time"] = api.now()
        await api.update(config)
        return Result(requeue_after=60)


def test_work_and_calls_take_their_time() -> None:
    run = simulate(Scenario(controllers=[Copies()], objects=[CONFIG]), EXACT)
    assert (run.end, run.writes) == ("settles", 1)
    assert run.seconds == pytest.approx(3.1)  # the write is carried out half-way through its call


def test_an_update_of_a_copy_that_is_too_old_is_refused_and_retried() -> None:
    scenario = Scenario(
        controllers=[Copies()], objects=[CONFIG], actions=[update(CONFIG, data={"n": "1"})], guards=Guards.off()
    )
    run = simulate(scenario, Timing(lag=Duration(5), action=Duration(1), first_retry=1.0))
    assert run.end == "heals"
    assert run.reconciles[0].writes[0][2] == "409 Conflict"
    assert run.cluster.get("ConfigMap/v1", "c")["metadata"]["labels"] == {"n": "1"}


def test_a_read_of_an_own_write_waits_for_the_cache() -> None:
    class Twice(Controller):
        kind = "ConfigMap/v1"

        async def reconcile(self, request: Request, api: Api) -> None:
            config = await api.get(self.kind, request)
            if "done" not in config["data"]:
                config["data"]["done"] = "no"
                await api.update(config)
                config = await api.get(self.kind, request)
                config["data"]["done"] = "yes"
                await api.update(config)

    scenario = Scenario(controllers=[Twice()], objects=[CONFIG])
    timing = Timing(lag=Duration(7))
    guarded = simulate(scenario, timing)
    assert guarded.end == "settles"
    assert 7 < guarded.seconds < 8
    assert simulate(Scenario(controllers=[Twice()], objects=[CONFIG], guards=Guards.off()), timing).end == "heals"


def test_a_reconcile_that_fails_is_retried_with_a_delay_that_doubles() -> None:
    timing = Timing(start=Duration(0), first_retry=1, longest_retry=8, horizon=40)
    run = simulate(Scenario(controllers=[Fails()], objects=[CONFIG]), timing)
    assert run.end == "fails"
    assert [reconcile.begin for reconcile in run.reconciles] == [0, 1, 3, 7, 15, 23, 31, 39]
    assert len(run.cycle) == 1


def test_a_controller_that_only_looks_again_is_at_rest() -> None:
    run = simulate(Scenario(controllers=[Looks()], objects=[CONFIG]), Timing(horizon=600))
    assert (run.end, len(run.reconciles)) == ("settles", 10)


def test_a_controller_that_stamps_the_time_livelocks() -> None:
    run = simulate(Scenario(controllers=[Stamps()], objects=[CONFIG]), Timing(horizon=600))
    assert run.end == "livelocks"
    assert run.is_bad


def test_properties_are_judged_at_writes_and_at_rest() -> None:
    def unlabelled(cluster):  # type: ignore[no-untyped-def]
        return not cluster.get("ConfigMap/v1", "c")["metadata"].get("labels")

    def grown(before, after):  # type: ignore[no-untyped-def]
        return len(after.list("ConfigMap/v1")) > len(before.list("ConfigMap/v1"))

    properties = [always(unlabelled), eventually(unlabelled, name="finally"), always(grown)]
    run = simulate(Scenario(controllers=[Copies()], objects=[CONFIG], properties=properties), EXACT)
    assert [name for name, _ in run.violations] == ["unlabelled", "grown", "finally"]


def test_no_event_is_delivered_while_caches_are_frozen() -> None:
    scenario = Scenario(controllers=[Copies()], objects=[CONFIG], actions=[update(CONFIG, data={"n": "1"})])
    run = simulate(scenario, Timing(action=Duration(10), frozen=(5, 100)))
    assert run.end == "settles"
    assert 103 < run.seconds < 104


def test_users_wait_for_their_conditions_and_try_again() -> None:
    other = {**CONFIG, "metadata": {"name": "other"}}

    def labelled(cluster):  # type: ignore[no-untyped-def]
        return bool(cluster.get("ConfigMap/v1", "c")["metadata"].get("labels"))

    scenario = Scenario(
        controllers=[Copies()],
        objects=[CONFIG],
        actions=[create(other, when=labelled)],
        writers=[Writer("robot", [update(other, data={"n": "1"}, retry=True)])],
    )
    run = simulate(scenario, Timing(action=Duration(0.5)))
    assert run.end == "settles"
    assert run.cluster.get("ConfigMap/v1", "other")["metadata"]["labels"] == {"n": "1"}


def broken(*_: object) -> bool:
    raise KeyError("status")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actions": [update(CONFIG, data={"n": "1"}, when=broken)]}, "the condition of .* raised KeyError"),
        (
            {"properties": [always(lambda before, after: broken(before, after), name="asked")]},
            "asked.* raised KeyError",
        ),
    ],
)
def test_a_mistake_in_a_scenario_is_reported_and_not_taken_for_a_failed_call(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadScenario, match=message):
        simulate(Scenario(controllers=[Copies()], objects=[CONFIG], **options), Timing(horizon=60))


def test_an_error_in_a_predicate_is_reported() -> None:
    class Picky(Copies):
        predicates: ClassVar[dict[str, Predicate]] = {"ConfigMap/v1": Where(lambda event: event.old["metadata"])}  # type: ignore[index]

    with pytest.raises(BadScenario, match="a predicate or a mapping function raised TypeError"):
        simulate(Scenario(controllers=[Picky()], objects=[CONFIG]), EXACT)


def test_a_controller_can_have_several_instances() -> None:
    scenario = Scenario(
        controllers=[Copies()], objects=[CONFIG], bounds=Bounds(instances={"copies": 2}), guards=Guards.off()
    )
    run = simulate(scenario, Timing(lag=Duration(1), first_retry=2.0))
    assert {reconcile.instance for reconcile in run.reconciles} == {"copies 1", "copies 2"}
    assert run.end == "heals"


def test_a_seed_gives_the_same_run_and_another_seed_another() -> None:
    scenario = Scenario(controllers=[Copies()], objects=[CONFIG])
    timing = Timing(lag=Duration(0, 2))
    first, again, other = (simulate(scenario, timing, seed=seed) for seed in (1, 1, 2))
    assert (first.seconds, first.reconciles) == (again.seconds, again.reconciles)
    assert first.seconds != other.seconds


def test_a_sweep_can_go_through_an_attribute_of_a_controller() -> None:
    scenario = Scenario(controllers=[Copies()], objects=[CONFIG])
    points = list(sweep(scenario, EXACT, parse_sweep("copies.work=1..2s/0.5s"), seeds=[0]))
    assert [point.at_rest for point in points] == [pytest.approx(seconds) for seconds in (1.1, 1.6, 2.1)]
    assert Copies().work == 3.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lag", "expected PARAMETER=FROM..TO/STEP"),
        ("lag=0..1s/0s", "the step must be more than 0"),
        ("lag=2..1s/0.1s", "expected 0 ≤ low ≤ high"),
        ("lag=0..1x/0.1s", "expected a duration"),
        ("lag=0..1h/1ms", "at most 10,000"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        parse_sweep(text)


@pytest.mark.parametrize("name", ["lagg", "copies.wrok", "other.work"])
def test_a_parameter_that_does_not_exist_is_refused(name: str) -> None:
    scenario = Scenario(controllers=[Copies()], objects=[CONFIG])
    with pytest.raises(BadScenario, match=r"no parameter is called lagg|no controller has this attribute"):
        list(sweep(scenario, EXACT, parse_sweep(f"{name}=0..1s/1s"), seeds=[0]))


def test_durations_are_read_with_their_units() -> None:
    assert [seconds(text) for text in ("2", "20ms", "1.5s", "15m", "2h")] == [2, 0.02, 1.5, 900, 7200]
    assert duration("0.75..900s") == Duration(0.75, 900)
    assert duration("1..2m") == Duration(60, 120)
