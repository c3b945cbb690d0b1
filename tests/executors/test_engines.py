"""Ray and Dask find the same as one process, byte for byte, also when workers and machines are lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from executors.engines import project, started
from explore.shards.test_sharded import RACE, comparable, sharded
from kontend.cli import main
from kontend.executors import ray_cluster
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.shards import sharded as module

# The engines leave sockets and files to the garbage collector, and warn of their own plans.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def alone() -> object:
    """The verdict of one process."""
    return comparable(explore(RACE, SearchOptions()))


def _explored(file: str, *options: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["explore", file, "--one-process", "--output-format", "json", "--failures", "found", *options])
    return code, capsys.readouterr().out


def _same_bytes(
    executor: str, directory: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> None:
    """Explore a file outside the package, and a module by its name; compare the output and all files."""
    written = []
    monkey = (("fork", 1), (executor, 2))
    patch.setattr(module, "ENOUGH", 2)
    for name, jobs in monkey:
        place = directory / name.partition(":")[0]
        file = project(place)
        patch.chdir(place / "operators")
        outputs = [
            _explored(target, "--executor", name, "--jobs", str(jobs), *options, capsys=capsys)
            for target in (str(file.relative_to(file.parent)), "scenario:race")
        ]
        files = {path.name: path.read_bytes() for path in sorted(Path("found").iterdir())}
        written.append((outputs, files))
    assert written[0][0][0][0] == 1
    assert written[0] == written[1]
    assert written[0][1]


def test_ray_writes_the_same_bytes(
    ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del ray
    _same_bytes("ray", tmp_path, monkeypatch, capsys)


def test_ray_finds_the_same_after_a_worker_is_killed(ray: None, alone: object) -> None:
    del ray
    from kontend.explore.shards.on_ray import OnRay

    engines, engine = started(lambda: OnRay("", 2))

    def kill(layer: int) -> None:
        if layer == 6:
            ray = ray_cluster.ray_cluster("", 2).ray
            process = ray.get(engines[-1].shards[-1].actor.__ray_call__.remote(lambda _: os.getpid()))
            os.kill(process, signal.SIGKILL)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == alone
    assert traffic.lost == 1


def test_dask_writes_the_same_bytes(
    dask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del dask
    _same_bytes("dask", tmp_path, monkeypatch, capsys)


def test_dask_finds_the_same_after_a_worker_is_killed(dask: None, alone: object) -> None:
    del dask
    from kontend.explore.shards.on_dask import OnDask

    engines, engine = started(lambda: OnDask("", 2))

    def kill(layer: int) -> None:
        if layer == 6:
            processes = engines[-1].client.run(os.getpid)
            os.kill(processes[engines[-1].shards[-1].worker], signal.SIGKILL)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == alone
    assert traffic.lost >= 1
