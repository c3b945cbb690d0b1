"""Ray and Dask find the same as one process, byte for byte, also when workers and machines are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.engines import needs, project
from explore.shards.test_sharded import RACE, comparable, sharded
from kontend.cli import main
from kontend.executors import dask_cluster, ray_cluster
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.shards import sharded as module
from kontend.explore.shards.engine import Engine

# The engines leave sockets and files to the garbage collector, and warn of their own plans.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def alone() -> object:
    """The verdict of one process."""
    return comparable(explore(RACE, SearchOptions()))


@pytest.fixture(scope="module")
def dask() -> Iterator[None]:
    """Dask on this machine."""
    needs("dask")
    yield
    dask_cluster.close_dask()


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Ray on this machine."""
    needs("ray")
    yield
    ray_cluster.close_ray()


#: Ray notices the loss of a node in a second.
_WATCHFUL = {
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "300",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "2",
}


@pytest.fixture(scope="module")
def nodes(ray: None) -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, bound to the loopback interface."""
    del ray
    ray_cluster.close_ray()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ray_cluster.PRIVATE | ray_cluster.TOKENS | _WATCHFUL).items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        each = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=each)
        cluster.add_node(**each)
        yield cluster
        ray_cluster.close_ray()
        cluster.shutdown()


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


def _started(make: Callable[[], Engine]) -> tuple[list[Any], Callable[[], Engine]]:
    engines: list[Any] = []

    def made() -> Engine:
        engines.append(make())
        engine: Engine = engines[-1]
        return engine

    return engines, made


def test_ray_writes_the_same_bytes(
    ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del ray
    _same_bytes("ray", tmp_path, monkeypatch, capsys)


def test_ray_finds_the_same_after_a_worker_is_killed(ray: None, alone: object) -> None:
    del ray
    from kontend.explore.shards.on_ray import OnRay

    engines, engine = _started(lambda: OnRay("", 2))

    def kill(layer: int) -> None:
        if layer == 6:
            ray = ray_cluster.ray_cluster("", 2).ray
            process = ray.get(engines[-1].shards[-1].actor.__ray_call__.remote(lambda _: os.getpid()))
            os.kill(process, signal.SIGKILL)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == alone
    assert traffic.lost == 1


def test_a_ray_cluster_of_two_nodes_finds_the_same_after_one_is_killed(nodes: Any, alone: object) -> None:
    from kontend.explore.shards.on_ray import OnRay

    places: list[str] = []
    engines, engine = _started(lambda: OnRay(nodes.address, 2))

    def kill(layer: int) -> None:
        if layer == 6:
            ray = ray_cluster.ray_cluster(nodes.address, 2).ray
            for shard in engines[-1].shards:
                where = shard.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
                places.append(ray.get(where))
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == alone
    assert traffic.lost >= 1  # Ray may place the new shard on the lost node before it notices
    assert len(set(places)) == 2


def test_dask_writes_the_same_bytes(
    dask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del dask
    _same_bytes("dask", tmp_path, monkeypatch, capsys)


def test_dask_finds_the_same_after_a_worker_is_killed(dask: None, alone: object) -> None:
    del dask
    from kontend.explore.shards.on_dask import OnDask

    engines, engine = _started(lambda: OnDask("", 2))

    def kill(layer: int) -> None:
        if layer == 6:
            processes = engines[-1].client.run(os.getpid)
            os.kill(processes[engines[-1].shards[-1].worker], signal.SIGKILL)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == alone
    assert traffic.lost >= 1
