"""Shards as actors of Ray. Ray places them, carries their messages and notices when one is lost."""

from __future__ import annotations

from typing import Any, Final

from kontend.executors.names import BadExecutor
from kontend.executors.ray_cluster import RayCluster, quiet, ray_cluster
from kontend.executors.results import result_of
from kontend.explore.shards.engine import LostShard
from kontend.explore.shards.remote_shard import Parcel, RemoteShard
from kontend.explore.shards.spec import ShardSpec

#: The seconds in which a cluster must find room for a shard: enough for one that adds machines.
_PATIENCE: Final = 300.0


class _Result:
    """The result of a call."""

    def __init__(self, shard: _RayShard, reference: Any) -> None:
        self._shard = shard
        self._reference = reference

    def result(self) -> Any:
        """Wait for the result."""
        return self._shard.received(self._reference)


class _RayShard:
    """A shard that is an actor."""

    def __init__(self, cluster: RayCluster, actor: Any) -> None:
        #: Ray's handle of the actor.
        self.actor = actor
        self._cluster = cluster
        self._is_placed = False

    def call(self, method: str, *arguments: Any) -> _Result:
        """Call a method of the shard."""
        return _Result(self, self.actor.call.remote(method, arguments))

    def received(self, reference: Any) -> Any:
        """Wait for a result."""
        ray = self._cluster.ray
        try:
            answer = ray.get(reference, timeout=None if self._is_placed else _PATIENCE)
        except ray.exceptions.GetTimeoutError:
            raise BadExecutor(_no_room(ray)) from None
        except ray.exceptions.RayActorError as error:
            if getattr(error, "actor_init_failed", False):  # kontend is missing, or cannot be imported
                raise BadExecutor(
                    f"a worker of Ray cannot start a shard; is kontend installed there? {error}"
                ) from None
            raise LostShard from None
        except (ray.exceptions.ObjectLostError, ray.exceptions.WorkerCrashedError):
            raise LostShard from None
        except ray.exceptions.RaySystemError as error:
            raise BadExecutor(f"the connection to Ray was lost: {error}") from error
        self._is_placed = True
        return result_of(answer)

    def stop(self) -> None:
        """End the actor."""
        if self._cluster.ray.is_initialized():
            self._cluster.ray.kill(self.actor)


class OnRay:
    """Starts shards as actors."""

    #: Ray carries out the calls of an actor in their order.
    window = 16

    def __init__(self, address: str = "", count: int = 1) -> None:
        """Use the cluster of an address, or this machine, for ``count`` shards."""
        self._address = address
        self._count = count
        #: The shards that were started.
        self.shards: list[_RayShard] = []
        self._parcel: Any = None
        if address:
            ray_cluster(address, count)  # an address that does not answer is reported before the search begins

    def start(self, spec: ShardSpec) -> _RayShard:
        """Start a shard where the cluster has room."""
        cluster = ray_cluster(self._address, self._count)
        ray = cluster.ray
        if self._parcel is None:
            self._parcel = ray.put(Parcel.of(spec, ray.cloudpickle.dumps))
        # After the loss of a machine there may be no free processor left: a replacement shares one.
        is_replacement = len(self.shards) >= self._count
        with quiet():
            make = ray.remote(RemoteShard).options(
                num_cpus=0 if is_replacement else 1, max_restarts=0, scheduling_strategy="SPREAD"
            )
            shard = _RayShard(cluster, make.remote(self._parcel))
        self.shards.append(shard)
        return shard

    def close(self) -> None:
        """Nothing to release: the cluster serves the next search, too, and stops with this process."""


def _no_room(ray: Any) -> str:
    have, free = (int(resources.get("CPU", 0)) for resources in (ray.cluster_resources(), ray.available_resources()))
    return (
        f"Ray found no room for a shard in {_PATIENCE:.0f} s: the cluster has {have} processors, {free} of them free; "
        "ask for fewer workers with --jobs, or add machines"
    )
