"""A search that was killed goes on where it was, and ends with the same verdict."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explore.shards.test_sharded import RACE, comparable
from explore.widgets import Widgets, double_plan
from kontend.explore import Scenario, Verdict
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.problems import BadScenario
from kontend.explore.search.expander import Expander
from kontend.explore.shards import checkpoint as module
from kontend.explore.shards import sharded
from kontend.explore.shards.journal import Journal

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="the search is killed in forked processes"
)


@pytest.fixture(scope="module", autouse=True)
def _shards_for_few_states() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sharded, "SMALL", 0)
        yield


@pytest.fixture(autouse=True)
def _small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STATES", 10)


@pytest.fixture(scope="module")
def alone() -> object:
    """The verdict of a search that nothing has interrupted."""
    return comparable(check(RACE))


def check(scenario: Scenario, *, checkpoint: Path | None = None, jobs: int = 1) -> Verdict:
    """Explore without the pytest plugin, which reports violations."""
    return explore(scenario, SearchOptions(checkpoint=checkpoint, jobs=jobs))


def _killed(scenario: Scenario, directory: Path, seed: int) -> None:
    """Search, and kill this process in the middle of an expansion or of a write."""
    chance = random.Random(seed)
    left = chance.randrange(5, 120)
    in_write = chance.random() < 0.5
    expand, append = Expander.expand, Journal.append

    def expand_and_die(self: Expander, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[Any]:
        nonlocal left
        for expansion in expand(self, numbers, ahead):
            left -= 1
            if left <= 0 and not in_write:
                os.kill(os.getpid(), signal.SIGKILL)
            yield expansion

    def append_and_die(self: Journal, packed: Any, runs: Any, *, is_first: bool) -> None:
        if left <= 0:
            before = self.path.stat().st_size
            append(self, packed, runs, is_first=is_first)
            os.truncate(self.path, chance.randrange(before, self.path.stat().st_size))
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, packed, runs, is_first=is_first)

    Expander.expand = expand_and_die  # type: ignore[method-assign]
    Journal.append = append_and_die  # type: ignore[method-assign]
    check(scenario, checkpoint=directory)


@needs_fork
def test_a_search_that_is_killed_ten_times_ends_with_the_same_verdict(tmp_path: Path, alone: object) -> None:
    sizes = []
    for seed in range(10):
        process = multiprocessing.get_context("fork").Process(target=_killed, args=(RACE, tmp_path, seed))
        process.start()
        process.join()
        sizes.append(sum(path.stat().st_size for path in tmp_path.glob("*.journal")))
        assert process.exitcode in (-signal.SIGKILL, 0)
    assert sizes[0] < sizes[4]
    assert comparable(check(RACE, checkpoint=tmp_path)) == alone
    assert comparable(check(RACE, checkpoint=tmp_path)) == alone


def test_a_search_goes_on_in_shards(tmp_path: Path, alone: object) -> None:
    few = replace(RACE, bounds=replace(RACE.bounds, states=300))
    assert check(few, checkpoint=tmp_path).stopped
    assert comparable(check(RACE, checkpoint=tmp_path, jobs=2)) == alone


def test_a_finished_search_runs_no_code_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: object) -> None:
    check(RACE, checkpoint=tmp_path)

    def expanded(self: Expander, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[Any]:
        raise AssertionError(f"{self} expands {numbers} and {ahead}")

    monkeypatch.setattr(Expander, "expand", expanded)
    assert comparable(check(RACE, checkpoint=tmp_path)) == alone


def test_another_scenario_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    for lag in (0, 1):
        check(double_plan(Widgets(), lag=lag), checkpoint=tmp_path)
    assert len(list(tmp_path.glob("*.journal"))) == 2


def test_damaged_frames_are_searched_again(tmp_path: Path, alone: object) -> None:
    check(RACE, checkpoint=tmp_path)
    for path in tmp_path.glob("*.journal"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert comparable(check(RACE, checkpoint=tmp_path)) == alone


def test_two_searches_do_not_share_a_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "one")
    with pytest.raises(BadScenario, match="another search writes to it"):
        Journal(tmp_path, "one")
    journal.close()


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BadScenario, match="symbolic link"):
        check(RACE, checkpoint=tmp_path / "link")


def test_walks_have_no_checkpoint() -> None:
    with pytest.raises(BadScenario, match="can go on later"):
        explore(RACE, SearchOptions("random", checkpoint=Path("unused")))


def test_the_verdict_is_that_of_a_limit_that_is_reached_again(tmp_path: Path) -> None:
    few = replace(RACE, bounds=replace(RACE.bounds, states=300))
    verdicts: list[Verdict] = [check(few, checkpoint=tmp_path), check(few, checkpoint=tmp_path), check(few)]
    assert comparable(verdicts[0]) == comparable(verdicts[1]) == comparable(verdicts[2])


@needs_fork
def test_a_full_disk_is_named_and_the_search_goes_on_when_there_is_room(tmp_path: Path, alone: object) -> None:
    def without_room() -> None:
        sys.dont_write_bytecode = True  # what does not fit would be cut off and kept
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))  # stands for a full disk
        try:
            check(RACE, checkpoint=tmp_path)
        except BadScenario as error:
            os._exit(3 if "File too large; what was written before is kept" in str(error) else 4)
        os._exit(5)

    process = multiprocessing.get_context("fork").Process(target=without_room)
    process.start()
    process.join()
    assert process.exitcode == 3
    assert comparable(check(RACE, checkpoint=tmp_path)) == alone
