"""The engines by the names of executors."""

from __future__ import annotations

from kontend.executors.names import ExecutorName
from kontend.explore.shards.engine import Engine
from kontend.explore.shards.processes import Processes


def engine_of(text: str, count: int) -> Engine:
    """The engine of an executor, for ``count`` shards; processes of this machine if no name is given."""
    name, address = ExecutorName.of(text)
    # Ray and Dask are extras.
    if name == "ray":
        from kontend.explore.shards.on_ray import OnRay

        return OnRay(address, count)
    if name == "dask":
        from kontend.explore.shards.on_dask import OnDask

        return OnDask(address, count)
    return Processes("fork" if name == "fork" else "spawn" if name == "spawn" else None)
