"""Ray and Dask find the same as one process, byte for byte, also when workers, machines and the driver are lost.

All of it is in one file, so that one process of the tests starts Ray and Dask, once.
"""

from __future__ import annotations

import multiprocessing
import socket
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from campaign import scenario_files as files
from campaign.scenario_files import write_files
from cli.test_zoo import GOOD, entry
from executors import driver
from executors.driver import SHARES_SOON, Run
from executors.engines import needs, project


@pytest.fixture(params=["ray", "dask"])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine that is installed."""
    name: str = request.param
    needs(name)
    return name


def _explore(file: str, *options: str) -> list[str]:
    return ["explore", file, "--one-process", "--output-format", "json", "--failures", "found", *options]


def _files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((directory / "found").iterdir())}


def test_an_engine_writes_the_same_bytes(engine: str, process: ProcessPoolExecutor, tmp_path: Path) -> None:
    """Explores a file outside the package, and a module by its name."""
    written = []
    for name, jobs in (("fork", "1"), (engine, "2")):
        place = project(tmp_path / name).parent
        runs = [
            process.submit(driver.run, place, _explore(target, "--executor", name, "--jobs", jobs), SHARES_SOON)
            for target in ("scenario.py", "scenario:race")
        ]
        written.append(([run.result()[:2] for run in runs], _files(place)))
    assert written[0][0][0][0] == 1
    assert written[0] == written[1]
    assert written[0][1]


def test_an_engine_finds_the_same_after_a_worker_is_killed(engine: str, process: ProcessPoolExecutor) -> None:
    search = process.submit(driver.lose_worker, engine).result()
    assert search.is_same
    assert search.lost >= 1


def test_a_search_whose_process_is_killed_goes_on_with_the_same_bytes(
    engine: str, process: ProcessPoolExecutor, tmp_path: Path
) -> None:
    place = project(tmp_path).parent
    arguments = _explore("scenario.py", "--states", "1500")
    remote = [*arguments, "--jobs", "2", "--checkpoint", "state", "--executor"]
    address = process.submit(driver.address, engine).result()
    other = multiprocessing.get_context("spawn").Process(
        target=driver.run_and_be_killed, args=(place, [*remote, address], 300)
    )
    other.start()
    other.join()
    assert other.exitcode == -9
    assert any(path.stat().st_size for path in (place / "state").glob("*.journal"))
    resumed = process.submit(driver.run, place, [*remote, engine], SHARES_SOON).result()
    assert resumed.code == 1
    files = _files(place)
    assert resumed.out == process.submit(driver.run, place, arguments).result().out
    assert files == _files(place)


def test_tasks_return_results_and_exceptions_and_are_repeated(
    engine: str, process: ProcessPoolExecutor, tmp_path: Path
) -> None:
    results = process.submit(driver.run_tasks, engine, tmp_path / "mark").result()
    assert results == ([1, 2, 3], "KeyError(5)", "once")


def test_the_zoo_gives_the_same_results(engine: str, process: ProcessPoolExecutor, tmp_path: Path) -> None:
    for name in ("first", "second"):
        entry(tmp_path, name, GOOD)
    arguments = ["zoo", "--directory", ".", "--output-format", "json"]

    def results(*options: str) -> Any:
        run: Run = process.submit(driver.run, tmp_path, [*arguments, *options]).result()
        assert run.code == 0, run.err
        document = orjson.loads(run.out)
        document.pop("seconds")
        for each in document["entries"]:
            for scenario in each["scenarios"]:
                scenario.pop("milliseconds")
        return document

    assert results("--jobs", "2", "--executor", engine) == results()


def test_a_campaign_has_the_same_outcomes(engine: str, process: ProcessPoolExecutor, tmp_path: Path) -> None:
    write_files(tmp_path / "all", a=files.HOLDS, b=files.VIOLATED, c=files.REFUSED, d=files.LIMITED)
    write_files(tmp_path / "all/below", a=files.LIMITED)  # a module of the same name
    arguments = ["campaign", "all", "--jobs", "2", "--one-process", "--directory", "d"]
    process.submit(driver.address, engine).result()  # starts the workers, in another directory
    here = driver.run(tmp_path, arguments)
    there = process.submit(driver.run, tmp_path, [*arguments, "--fresh", "--executor", engine]).result()
    assert there.out.splitlines() == here.out.splitlines()
    assert (there.code, there.err) == (here.code, here.err) == (2, "")
    assert here.out.endswith("5 runs: 1 hold, 1 violated, 2 undecided, 1 refused\n")


def test_live_commands_run_on_this_machine(process: ProcessPoolExecutor, tmp_path: Path) -> None:
    needs("dask")
    (tmp_path / "c.yaml").write_text("campaign: [{live: [./manager]}]")
    run = process.submit(driver.run, tmp_path, ["campaign", "c.yaml", "--executor", "dask"]).result()
    assert run.code == 2
    assert "live commands run on this machine: leave --executor out" in run.err


@pytest.mark.parametrize(
    ("name", "problem", "patience"),
    [
        ("ray", "no Ray cluster answers", "kontend.executors.ray_cluster._PATIENCE"),
        ("dask", "no Dask scheduler answers", "kontend.executors.dask_cluster._PATIENCE"),
    ],
)
def test_something_else_at_an_address_is_reported(
    name: str, problem: str, patience: str, process: ProcessPoolExecutor, tmp_path: Path
) -> None:
    """A server that accepts connections and says nothing is no cluster."""
    needs(name)
    place = project(tmp_path).parent
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        arguments = ["explore", "scenario.py", "--executor", f"{name}://{address}"]
        run = process.submit(driver.run, place, arguments, {patience: 0.5}).result()
    assert run.code == 2
    assert f"{problem} at {address}" in run.err


def test_a_second_dask_on_this_machine_warns_of_nothing(process: ProcessPoolExecutor) -> None:
    needs("dask")
    assert process.submit(driver.start_two_dasks).result() == []


def test_a_ray_cluster_of_two_nodes_finds_the_same_after_one_is_killed(process: ProcessPoolExecutor) -> None:
    needs("ray")
    search = process.submit(driver.lose_node).result()
    assert search.is_same
    assert search.lost >= 1  # Ray may place the new shard on the lost node before it notices
    assert search.nodes == 2
