"""Searches on Ray and Dask, in a process of their own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from explore.shards.test_sharded import RACE, comparable, sharded
from kontend.cli import main
from kontend.executors import dask_cluster, ray_cluster
from kontend.executors.tasks import task_pool
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.shards.engine import Engine
from kontend.explore.shards.on_dask import OnDask
from kontend.explore.shards.on_ray import OnRay
from kontend.explore.shards.sharded import Sharded
from kontend.runtime.user_sources import UserCode

#: Searches use shards from the second state on, however small they are.
SHARES_SOON = {"kontend.explore.shards.sharded.ENOUGH": 2, "kontend.explore.shards.sharded.SMALL": 0}
#: Ray notices the loss of a node in a second.
_WATCHFUL = {
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "300",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "2",
}


def close() -> None:
    """Stop Ray and Dask."""
    ray_cluster.close_ray()
    dask_cluster.close_dask()


class Run(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


def run(directory: Path, arguments: list[str], settings: Mapping[str, Any] | None = None) -> Run:
    """Run a command of kontend in a directory, with other values for some constants."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(directory))
        out, err = io.StringIO(), io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        for name, value in (settings or {}).items():
            stack.enter_context(mock.patch(name, value))
        return Run(main(arguments), out.getvalue(), err.getvalue())


def address(engine: str) -> str:
    """The address of an engine on this machine, for other processes."""
    if engine == "ray":
        return f"ray://{ray_cluster.ray_cluster('', 2).ray.get_runtime_context().gcs_address}"
    return f"dask://{dask_cluster.dask_cluster('', 2).client.scheduler.address.removeprefix('tcp://')}"


def start_two_dasks() -> list[str]:
    """Start Dask where another one, or anything else, has its usual port; returns the warnings."""
    dask_cluster.close_dask()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # it is in use already
            stack.enter_context(socket.create_server(("127.0.0.1", 8787)))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", UserWarning)
        dask_cluster.dask_cluster("", 1)
        return [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]


def run_and_be_killed(directory: Path, arguments: list[str], states: int) -> None:
    """Run a command, and kill this process once shards have expanded so many states."""
    os.environ["RAY_AUTH_MODE"] = "token"  # as our clusters have it
    recorded = Sharded._recorded

    def last(shards: Sharded, index: int, number: int) -> None:
        recorded(shards, index, number)
        if shards.traffic.expanded == states:
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(Sharded, "_recorded", last):
        raise SystemExit(f"it ended too early: {run(directory, arguments, SHARES_SOON)}")


# Searches that lose something


class Lossy(NamedTuple):
    """A search that has lost shards on the way."""

    #: It has found the same as one process.
    is_same: bool
    lost: int
    #: The nodes of the shards.
    nodes: int = 0


def lose_worker(engine: str) -> Lossy:
    """Kill the worker of a shard in the middle of a search."""
    engines: list[Any] = []

    def kill() -> None:
        shard = engines[-1].shards[-1]
        if engine == "ray":
            ray = ray_cluster.ray_cluster("", 2).ray
            process = ray.get(shard.actor.__ray_call__.remote(lambda _: os.getpid()))
        else:
            process = engines[-1].client.run(os.getpid)[shard.worker]
        os.kill(process, signal.SIGKILL)

    return _searched(engines, lambda: OnRay("", 2) if engine == "ray" else OnDask("", 2), kill)


def lose_node() -> Lossy:
    """Kill one of two nodes of a Ray cluster in the middle of a search."""
    engines: list[Any] = []
    places: set[str] = set()
    ray_cluster.close_ray()
    with _two_nodes() as cluster:

        def kill() -> None:
            ray = ray_cluster.ray_cluster(cluster.address, 2).ray
            node = next(iter(cluster.worker_nodes))
            lost = []
            for shard in engines[-1].shards:
                where = shard.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
                places.add(ray.get(where))
                if ray.get(where) == node.node_id:
                    lost.append(ray.get(shard.actor.__ray_call__.remote(lambda _: os.getpid())))
            cluster.remove_node(node, allow_graceful=False)
            for process in lost:  # they would notice a little later that the node is gone
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

        lossy = _searched(engines, lambda: OnRay(cluster.address, 2), kill)
        ray_cluster.close_ray()
    return lossy._replace(nodes=len(places))


def _searched(engines: list[Any], make: Callable[[], Engine], kill: Callable[[], None]) -> Lossy:
    """Search in shards; something is killed after the sixth layer."""

    def engine() -> Engine:
        engines.append(make())
        started: Engine = engines[-1]
        return started

    verdict, traffic = sharded(RACE, engine, between=lambda layer: kill() if layer == 6 else None)
    return Lossy(comparable(verdict) == comparable(explore(RACE, SearchOptions())), traffic.lost)


@contextlib.contextmanager
def _two_nodes() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, bound to the loopback interface."""

    def start() -> Any:
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
        cluster = Cluster()
        try:
            cluster.add_node(**node)
            cluster.add_node(**node)
        except BaseException:
            cluster.shutdown()
            raise
        return cluster

    with mock.patch.dict(os.environ, _WATCHFUL), ray_cluster.private_settings():
        cluster = ray_cluster.patiently(start, lambda: None)
        yield cluster
        cluster.shutdown()


# Tasks


def run_tasks(engine: str, mark: Path) -> tuple[list[int], str, str]:
    """Run tasks: some that return, one that raises an exception, and one whose worker is killed."""
    with task_pool(engine, 2, UserCode.loaded()) as pool:
        raised = repr(pool.submit(_refused, 5).exception())  # in a module that a new worker cannot import by itself
        results = list(pool.map(abs, [-1, 2, -3]))
        # Workers do not give way to other processes of this machine.
        assert pool.submit(os.nice, 0).result() == os.nice(0)
        return results, raised, pool.submit(_killed_once, mark).result()


def _refused(number: int) -> int:
    raise KeyError(number)


def _killed_once(mark: Path) -> str:
    """End the worker, unless it has ended before."""
    if not mark.exists():
        mark.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.read_text()
