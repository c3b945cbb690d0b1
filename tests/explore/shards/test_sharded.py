"""Shards find the same as one process: numbers, traces, verdict."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from explore.programs import scenarios
from explore.widgets import WIDGET, Widgets, double_plan
from kontend.explore import Scenario, Verdict, check, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.restarts import restarted
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.expander import Expander
from kontend.explore.search.ways import Way
from kontend.explore.shards.engine import Engine
from kontend.explore.shards.processes import Processes
from kontend.explore.shards.shard import Numbered, Order, Shard
from kontend.explore.shards.sharded import Sharded, Traffic
from kontend.explore.shards.spec import ShardSpec

_PLAIN = double_plan(Widgets(), lag=1, concurrent=2, states=1_500)
RACE = replace(_PLAIN, actions=[update(WIDGET, spec={"size": 3})], bounds=replace(_PLAIN.bounds, faults=1))


def comparable(verdict: Verdict) -> object:
    """All of a verdict but the seconds it took."""
    final = [canonical_cluster(state) for state in verdict.final_states]
    counts = [violation.count for violation in verdict.violations]
    return replace(verdict, seconds=0.0, final_states=[], explain=None), final, counts


def sharded(
    scenario: Scenario,
    engine: Callable[[], Engine],
    *,
    count: int = 2,
    between: Callable[[int], object] = bool,
) -> tuple[Verdict, Traffic]:
    """Search in shards from the first state on; ``between`` is called after each layer."""
    traffics: list[Traffic] = []

    class Watched(Sharded):
        """Shards with something that happens between layers."""

        def end_layer(self) -> None:
            """End a layer."""
            super().end_layer()
            between(self.traffic.layers)

    def search(model: Model) -> Verdict:
        expander = Expander(model)
        shards = Watched(expander, engine(), count, ShardSpec.of(expander), enough=1)
        traffics.append(shards.traffic)
        return BreadthFirst(model, expander=shards).run()

    return restarted(scenario, search), traffics[-1]


@settings(max_examples=6, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_shards_find_the_same_in_generated_scenarios(scenario: Scenario) -> None:
    verdict, _ = sharded(scenario, Processes)
    assert comparable(replace(check(scenario), notes=[])) == comparable(replace(verdict, notes=[]))


@pytest.fixture(scope="module")
def alone() -> object:
    """The verdict of one process."""
    return _plain(check(RACE))


def _plain(verdict: Verdict) -> object:
    return comparable(replace(verdict, notes=[]))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_number_of_shards_changes_nothing(count: int, alone: object) -> None:
    verdict, traffic = sharded(RACE, Processes, count=count)
    assert _plain(verdict) == alone
    assert traffic.expanded > 300
    assert count == 1 or traffic.most < 0.95 * traffic.expanded
    # Most states were known before their layer began.
    assert traffic.ahead > traffic.expanded / 2


def test_new_processes_find_the_same_as_forked_ones(alone: object) -> None:
    verdict, _ = sharded(RACE, lambda: Processes("spawn"))
    assert _plain(verdict) == alone


@pytest.mark.parametrize("seed", [1, 2])
def test_a_lost_shard_is_made_again(seed: int, alone: object) -> None:
    engines: list[Processes] = []

    def engine() -> Engine:
        started = Processes()
        engines.append(started)
        return started

    def kill(layer: int) -> None:
        if layer in (3 * seed, 5 * seed):
            os.kill(engines[-1].processes[-1].pid, signal.SIGKILL)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert _plain(verdict) == alone
    assert traffic.lost >= 2


def test_shards_tell_each_other_what_they_have_learnt() -> None:
    models = [Model(RACE), Model(RACE)]
    first, second = (Shard(Expander(model)) for model in models)
    root = Way(0, -1, (), is_wanted=True)
    learnt = first.carry_out(Order(ways=(root,), numbers=(0,))).learnt
    assert learnt is not None
    assert learnt.behaviours
    second.carry_out(Order(ways=(root,), news=(learnt,)))
    before = [program.runs for program in models[1].programs]
    assert second.carry_out(Order(numbers=(0,))).learnt is None
    assert [program.runs for program in models[1].programs] == before


def test_a_state_that_was_dropped_may_be_found_again() -> None:
    shard = Shard(Expander(Model(RACE)))
    shard.carry_out(Order(ways=(Way(0, -1, (), is_wanted=True),), numbers=(0,)))
    # Number 1 is found, then found in another shard, then found again.
    again = (Numbered(1, 0, 0), Numbered(1), Numbered(1, 0, 0))
    result = shard.carry_out(Order(numbered=again, recorded=1, numbers=(1,)))
    assert result.error is None
    assert result.packed.counts


def test_a_small_space_is_searched_in_one_process_and_the_verdict_says_so() -> None:
    small = replace(RACE, bounds=replace(RACE.bounds, states=500))
    verdict = check(small, jobs=2)
    assert (verdict.jobs, verdict.processes) == (2, 1)
    assert str(verdict).splitlines()[-1].endswith(" s in one process")


def test_a_larger_space_is_searched_in_all_processes_and_the_verdict_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kontend.explore.shards.sharded.SMALL", 100)
    monkeypatch.setattr("kontend.explore.shards.sharded.ENOUGH", 1)
    verdict = check(RACE, jobs=2)
    assert verdict.states > 100
    assert verdict.processes == 2
    assert str(verdict).splitlines()[-1].endswith(" s in 2 processes")
    assert " process" not in str(check(RACE)).splitlines()[-1]
