"""Flux's patch helper in virtual time: livelock in bands of the cache lag, and a gap between them that heals."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from kontend.explore import Scenario, never
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.timed.simulation import SimulatedRun, simulate
from kontend.explore.timed.timing import Duration, Timing
from kontend.runtime.user_file import load_file

FILE = Path(__file__).parents[3] / "examples" / "flux" / "source_controller.py"
SCENARIOS = scenarios_in(str(FILE))
TIMING = Timing(first_retry=0.75, longest_retry=900, horizon=400)


def run(name: str, lag: float, *, checkout: float = 2.0, **timing: Any) -> SimulatedRun:
    changed = replace(TIMING, lag=Duration(lag), attributes={"sources.checkout": checkout}, **timing)
    return simulate(SCENARIOS[name], changed, seed=1)


@pytest.mark.parametrize("lag", [0.8, 1.0, 2.9, 6.0])
def test_a_new_source_livelocks_in_two_bands_of_lag(lag: float) -> None:
    livelock = run("create", lag)
    assert livelock.end == "livelocks"
    assert "timed out waiting for the condition" in livelock.reconciles[-1].error
    assert "artifact" not in livelock.cluster.list("GitRepository.source.toolkit.fluxcd.io/v1")[0]["status"]


@pytest.mark.parametrize("lag", [0.0, 0.4, 1.5, 2.3])
def test_a_new_source_gets_ready_below_and_between_the_bands(lag: float) -> None:
    healed = run("create", lag)
    assert healed.end == ("settles" if lag < 0.5 else "heals")
    assert not healed.violations


def test_the_cycle_has_one_reconcile_in_the_first_band_and_two_in_the_second() -> None:
    assert len(run("create", 0.9).cycle) == 1
    assert len(run("create", 4.0).cycle) == 2


def test_a_short_checkout_leaves_no_gap() -> None:
    assert [run("create", lag, checkout=0.3).end for lag in (0.9, 1.5, 2.5)] == ["livelocks"] * 3


def test_the_change_of_a_healthy_source_livelocks_in_one_band_only() -> None:
    assert [run("change", lag).end for lag in (1.0, 2.9, 4.0)] == ["heals", "livelocks", "heals"]


@pytest.mark.parametrize("name", ["live", "waits_for_own_writes", "one_request"])
@pytest.mark.parametrize("lag", [0.9, 3.2])
def test_the_twins_come_to_rest_in_the_bands(name: str, lag: float) -> None:
    twin = run(name, lag)
    assert twin.end in ("settles", "heals")
    assert not twin.violations


def test_a_frozen_cache_is_a_fixed_point_until_a_timer_fires_after_it_thaws() -> None:
    # Frozen for good: the same calls again and again, and nothing is written.
    frozen = run("create", 0.1, frozen=(0.5, 10_000.0))
    assert frozen.end == "fails"
    assert len(frozen.cycle) == 1
    assert not frozen.cycle[0].commits
    thawed = run("create", 0.1, frozen=(0.5, 30.0))
    assert thawed.end == "heals"
    assert thawed.seconds > 40  # the events that thaw the cache trigger nothing


def test_the_published_symptom_is_not_reached_and_a_torn_status_is() -> None:
    torn = never(load_file(str(FILE)).torn)
    scenario: Scenario = SCENARIOS["create"]
    scenario = replace(scenario, properties=[*scenario.properties, torn])
    violated: set[str] = set()
    for lag in (0.5, 0.6, 0.7, 1.5, 2.9):
        for seed in range(3):
            timing = replace(TIMING, lag=Duration(lag), horizon=120)
            violated |= {name for name, _ in simulate(scenario, timing, seed=seed).violations}
    assert violated == {"torn"}


def test_the_command_prints_a_table_with_the_bands_and_the_same_as_json() -> None:
    command = [sys.executable, "-m", "kontend", "explore", str(FILE), "--timed", "--scenario", "create"]
    options = ["--sweep", "lag=0.4..1.6s/0.6s", "--seeds", "1", "--backoff-seconds", "0.75..900", "--horizon", "300s"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "lag 0.4 s: settles" in done.stdout
    assert "lag 1 s: livelocks" in done.stdout
    assert "lag 1.6 s: heals" in done.stdout
    done = subprocess.run([*command, *options, "--output-format", "json"], capture_output=True, text=True, check=False)
    document = orjson.loads(done.stdout)["create"]
    assert [band["verdict"] for band in document["bands"]] == ["settles", "livelocks", "heals"]
    assert document["points"][1]["livelocks"] == 1


def test_a_sweep_without_timed_is_refused() -> None:
    command = [sys.executable, "-m", "kontend", "explore", str(FILE), "--sweep", "lag=0..1s/1s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--sweep: say --timed as well" in done.stderr
