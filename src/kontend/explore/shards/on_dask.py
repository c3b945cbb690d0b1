"""Shards as actors of Dask. Dask places them, carries their messages and notices when one is lost."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import Any, Final

from kontend.executors.dask_cluster import DaskCluster, dask_cluster
from kontend.executors.names import BadExecutor
from kontend.executors.results import result_of
from kontend.explore.shards.engine import LostShard
from kontend.explore.shards.remote_shard import Parcel, RemoteShard
from kontend.explore.shards.spec import ShardSpec

#: The seconds after which a wait looks whether the worker still exists: Dask leaves some calls without an answer.
_LOOK: Final = 1.0
#: The seconds in which a worker must appear.
_PATIENCE: Final = 300.0
#: Dask's states of an actor that exists.
_ALIVE: Final = ("finished", "pending")


class _Result:
    """The result of a call."""

    def __init__(self, shard: _DaskShard, future: Any) -> None:
        self._shard = shard
        self._future = future

    def result(self) -> Any:
        """Wait for the result."""
        while True:
            try:
                answer = self._future.result(timeout=_LOOK)
            except TimeoutError:
                self._shard.check()
            except (OSError, ValueError, RuntimeError):  # Dask has no exception of its own for a lost actor
                self._shard.check()
                raise LostShard from None
            else:
                return result_of(answer)


class _DaskShard:
    """A shard that is an actor."""

    def __init__(self, cluster: DaskCluster, future: Any) -> None:
        self._cluster = cluster
        self._future = future
        self._actor: Any = None

    @property
    def worker(self) -> str:
        """The address of the worker."""
        return str(self._bound()._address)

    def call(self, method: str, *arguments: Any) -> _Result:
        """Call a method of the shard."""
        actor = self._bound()
        self.check()
        try:
            with self._cluster.client.as_current():  # an actor looks for its client
                return _Result(self, actor.call(method, arguments))
        except (OSError, ValueError, RuntimeError):
            raise LostShard from None

    def check(self) -> None:
        """Raise :class:`LostShard` if the worker is gone, :class:`BadExecutor` if the scheduler is."""
        if not self._cluster.is_open:
            if not self._cluster.address:  # the workers of this machine were all lost, and others were started
                raise LostShard
            raise BadExecutor(f"the connection to Dask's scheduler at {self._cluster.address} was lost")
        if self._future.status not in _ALIVE:
            raise LostShard

    def stop(self) -> None:
        """Release the actor."""
        self._actor = None
        self._future.release()

    def _bound(self) -> Any:
        from distributed.scheduler import KilledWorker

        deadline = time.monotonic() + _PATIENCE
        while self._actor is None:
            try:
                self._actor = self._future.result(timeout=_LOOK)
            except TimeoutError:
                if self._cluster.is_deserted:
                    raise LostShard from None
                if time.monotonic() > deadline:
                    raise BadExecutor(f"Dask found no worker for a shard in {_PATIENCE:.0f} s; add workers") from None
            except (KilledWorker, CancelledError):
                raise LostShard from None
            except Exception as error:
                if self._future.status not in ("finished", "error"):
                    raise LostShard from None
                reason = f"{type(error).__name__}: {error}"
                raise BadExecutor(f"a worker of Dask cannot start a shard; is kontend there? {reason}") from error
        return self._actor


class OnDask:
    """Starts shards as actors, one for each worker in turn."""

    #: Dask does not promise the order of calls that are under way together.
    window = 1

    def __init__(self, address: str = "", count: int = 1) -> None:
        """Use the scheduler of an address, or this machine, for ``count`` shards."""
        self._address = address
        self._count = count
        #: The shards that were started.
        self.shards: list[_DaskShard] = []
        self._parcel: Parcel | None = None
        if address:
            dask_cluster(address, count)  # an address that does not answer is reported before the search begins

    @property
    def client(self) -> Any:
        """Dask's client."""
        return dask_cluster(self._address, self._count).client

    def start(self, spec: ShardSpec) -> _DaskShard:
        """Start a shard on some worker; Dask takes the one with the fewest actors."""
        import cloudpickle

        if self._parcel is None:
            self._parcel = Parcel.of(spec, cloudpickle.dumps)
        future = self.client.submit(RemoteShard, self._parcel, actor=True, pure=False)
        shard = _DaskShard(dask_cluster(self._address, self._count), future)
        self.shards.append(shard)
        return shard

    def close(self) -> None:
        """Nothing to release: the workers serve the next search, too, and stop with this process."""
