"""A search whose record is on disk finds the same as one in memory: numbers, traces, verdict."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from effort import effort
from explore.programs import scenarios
from explore.shards.test_sharded import RACE, comparable
from kontend.explore import Scenario, Verdict
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.search import breadth_first, depth_first, expander, memory_limit, successors
from kontend.explore.search.expander import Expander
from kontend.explore.search.graph import Graph
from kontend.explore.search.store import visited
from kontend.explore.shards import checkpoint, sharded

#: The number of times that a search is killed.
ROUNDS = int(os.environ.get("KONTEND_KILLS", "3"))
LIMITED = replace(RACE, bounds=replace(RACE.bounds, memory=100))


@pytest.fixture(scope="module", autouse=True)
def _shards_for_few_states() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sharded, "SMALL", 0)
        yield


@pytest.fixture(autouse=True)
def _pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that fills up with every look at it, from half of the limit to just below it, and small numbers."""
    use = iter(range(1, 1_000_000))

    def in_use() -> int:
        return int((100 << 20) * (1.0 - 0.5 * 0.9 ** next(use)) * 0.999)

    monkeypatch.setattr(memory_limit, "memory_in_use", in_use)
    monkeypatch.setattr(memory_limit, "_FEWEST", 3)
    monkeypatch.setattr(breadth_first, "OFTEN", 20)
    monkeypatch.setattr(depth_first, "OFTEN", 20)
    monkeypatch.setattr(breadth_first, "_TOGETHER", 40)
    monkeypatch.setattr(expander, "_TOGETHER", 7)
    monkeypatch.setattr(successors, "_MOST_SEEN", 50)
    monkeypatch.setattr(visited, "_FRESH", 100)
    monkeypatch.setattr(checkpoint, "_STATES", 10)
    monkeypatch.setattr(sharded, "ENOUGH", 1)


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of states with which graphs went to disk."""
    sizes: list[int] = []
    spill = Graph.spill

    def noted(self: Graph, directory: Path) -> None:
        sizes.append(len(self))
        spill(self, directory)

    monkeypatch.setattr(Graph, "spill", noted)
    return sizes


def search(scenario: Scenario, **options: Any) -> object:
    return comparable(explore(scenario, SearchOptions(**options)))


@pytest.fixture(scope="module")
def alone() -> dict[str, object]:
    """The verdicts of searches in memory."""
    return {name: comparable(explore(RACE, SearchOptions(search=name))) for name in ("breadth", "depth")}


@pytest.mark.parametrize("strategy", ["breadth", "depth"])
def test_a_search_on_disk_finds_the_same(
    strategy: str, alone: dict[str, object], spills: list[int], tmp_path: Path
) -> None:
    assert search(LIMITED, search=strategy, spill=tmp_path) == alone[strategy]
    assert spills
    assert 20 < spills[-1] < 500
    assert not list(tmp_path.iterdir())


def test_shards_on_disk_find_the_same(
    alone: dict[str, object], spills: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limit, "_FEWEST", 0)  # the processes of the shards alone use more than the limit
    assert search(LIMITED, jobs=2, spill=tmp_path) == alone["breadth"]
    assert spills


@settings(max_examples=effort(4, 8), suppress_health_check=list(HealthCheck), deadline=None)
@given(scenarios())
def test_generated_scenarios_on_disk(scenario: Scenario) -> None:
    limited = replace(scenario, bounds=replace(scenario.bounds, memory=100, states=400))
    unlimited = replace(scenario, bounds=replace(scenario.bounds, states=400))
    assert search(limited) == search(unlimited)


def _killed(directory: Path, seed: int) -> None:
    chance = random.Random(seed)
    left = chance.randrange(1, 145)
    expand = Expander.expand

    def expand_and_die(self: Expander, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[Any]:
        nonlocal left
        for expansion in expand(self, numbers, ahead):
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            yield expansion

    Expander.expand = expand_and_die  # type: ignore[method-assign]
    explore(LIMITED, SearchOptions(checkpoint=directory))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the search is killed after a fork")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_search_on_disk_that_is_killed_goes_on(
    seed: int, tmp_path: Path, alone: dict[str, object], spills: list[int]
) -> None:
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(tmp_path, seed))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert search(LIMITED, checkpoint=tmp_path) == alone["breadth"]
    assert spills
    assert search(LIMITED, checkpoint=tmp_path, jobs=2) == alone["breadth"]
    assert [path.suffix for path in tmp_path.iterdir()] == [".journal"]


def test_a_search_without_room_on_disk_is_undecided(tmp_path: Path) -> None:
    verdict: Verdict = explore(LIMITED, SearchOptions(spill=tmp_path / "nowhere"))
    assert not verdict.exhausted
    assert "there is no room on disk" in verdict.stopped
    assert "nowhere" in verdict.stopped


def test_a_limit_that_is_too_low_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "memory_in_use", lambda: 101 << 20)
    verdict = explore(LIMITED, SearchOptions())
    assert verdict.stopped == "the limit of 100 MiB of memory was reached, with all states on disk"
