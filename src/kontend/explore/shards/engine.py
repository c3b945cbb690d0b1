"""The seam between a search and the place where it runs.

A search talks to shards by calls on a :class:`Handle`. The calls of one shard are carried out in their order, while the
caller goes on; each returns a :class:`PendingReply` result. An engine starts shards:
in processes of this machine, on Ray, on Dask.
"""

from __future__ import annotations

from typing import Any, Protocol

from kontend.explore.shards.spec import ShardSpec


class LostShard(Exception):
    """The process of a shard has ended. The search starts another one and gives it the same states."""


class PendingReply(Protocol):
    """The result of a call to a shard."""

    def result(self) -> Any:
        """Wait for the result. Raises the exception of the shard, or :class:`LostShard`."""


class Handle(Protocol):
    """One shard that is running somewhere."""

    def call(self, method: str, *arguments: Any) -> PendingReply:
        """Call a method of the :class:`~kontend.explore.shards.shard.Shard`. Raises :class:`LostShard`."""

    def stop(self) -> None:
        """End the shard, whatever it is doing."""


class Engine(Protocol):
    """Starts shards."""

    #: Calls of one shard that may be under way together.
    window: int

    def start(self, spec: ShardSpec) -> Handle:
        """Start a shard."""

    def close(self) -> None:
        """Release what belongs to the engine, after all its shards were stopped."""
