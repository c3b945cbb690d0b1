"""A Ray cluster of two nodes finds the same as one process, also when one of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from executors.engines import started
from explore.shards.test_sharded import RACE, comparable, sharded
from kontend.executors import ray_cluster
from kontend.explore.exploring import SearchOptions, explore

pytestmark = pytest.mark.filterwarnings("ignore")

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
    with pytest.MonkeyPatch.context() as patch, ray_cluster.private_settings():
        for name, value in _WATCHFUL.items():
            patch.setenv(name, value)
        cluster = ray_cluster.patiently(_two_nodes, lambda: None)
        yield cluster
        ray_cluster.close_ray()
        cluster.shutdown()


def _two_nodes() -> Any:
    from ray.cluster_utils import Cluster

    each = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster()
    try:
        cluster.add_node(**each)
        cluster.add_node(**each)
    except BaseException:
        cluster.shutdown()
        raise
    return cluster


def test_a_ray_cluster_of_two_nodes_finds_the_same_after_one_is_killed(nodes: Any) -> None:
    from kontend.explore.shards.on_ray import OnRay

    places: list[str] = []
    engines, engine = started(lambda: OnRay(nodes.address, 2))

    def kill(layer: int) -> None:
        if layer == 6:
            ray = ray_cluster.ray_cluster(nodes.address, 2).ray
            for shard in engines[-1].shards:
                where = shard.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
                places.append(ray.get(where))
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    verdict, traffic = sharded(RACE, engine, between=kill)
    assert comparable(verdict) == comparable(explore(RACE, SearchOptions()))
    assert traffic.lost >= 1  # Ray may place the new shard on the lost node before it notices
    assert len(set(places)) == 2
