"""Group commit: a write counts at once, or when it is on disk.

Writes are made on the newest state, one after the other. Readers, watchers and answers see a state only when it is
durable; without a store that is at once. While one transaction is being synced the next writes gather, and then go to
disk together, sharing the cost of a sync. Writes become visible only once they are durable.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kontend.cluster.state import State
from kontend.serve.storage.store import Store, is_disk_full

#: Seconds between two looks at a full disk.
_TRY_EVERY: Final = 1.0

#: Called with whether the write is on disk.
Acknowledge = Callable[[bool], None]


class Commits:
    """The newest state, the newest durable one, and the writes that wait to become durable."""

    def __init__(self, state: State, store: Store | None, on_durable: Callable[[], None]) -> None:
        #: The state that the next write starts from.
        self.newest = state
        #: The state that readers see.
        self.durable = state
        self._store = store
        self._on_durable = on_durable
        self._waiting: deque[tuple[int, Acknowledge]] = deque()
        self._saving: asyncio.Future[None] | None = None
        self._scheduled = False
        self._executor = ThreadPoolExecutor(1, "kontend-store") if store is not None else None
        #: Why the last save failed.
        self.failure: Exception | None = None
        #: The disk is full: only deletions are tried, as etcd does.
        self.full = store is not None and not store.has_reserve
        self._next_try = 0.0

    @property
    def waiting(self) -> int:
        """Returns the number of writes that are not on disk yet."""
        return len(self._waiting)

    def tick(self, now: int) -> None:
        """Move the clock."""
        if now > self.newest.now:
            same = self.newest is self.durable
            self.newest = self.newest.replace(now=now)
            self.durable = self.newest if same else self.durable.replace(now=now)

    def advance(self, state: State) -> None:
        """Take over the state that a write has made."""
        if state is self.newest:
            return
        changed = state.resource_version != self.newest.resource_version
        self.newest = state
        if self._store is None:
            self.durable = state
            if changed:
                self._on_durable()
        elif changed and self._saving is None and not self._scheduled:
            # Not yet: requests that arrived at the same moment come along.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._save)
        elif not changed and self._saving is None and not self._scheduled:
            self.durable = state

    def when_durable(self, acknowledge: Acknowledge) -> None:
        """Call back when everything up to now is on disk, or has failed to get there."""
        version = self.newest.resource_version
        if self.durable.resource_version >= version:
            acknowledge(True)
        else:
            self._waiting.append((version, acknowledge))

    def _save(self) -> None:
        self._scheduled = False
        assert self._store is not None  # else nothing is ever waited for
        assert self._executor is not None
        target = self.newest
        loop = asyncio.get_running_loop()
        self._saving = loop.run_in_executor(self._executor, self._store.save, self.durable, target)
        self._saving.add_done_callback(lambda done: self._saved(done, target))

    def _saved(self, done: asyncio.Future[None], target: State) -> None:
        self._saving = None
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self._fail(error)
            return
        self.durable = target
        if self.full:
            self._take_reserve()
        self._on_durable()
        while self._waiting and self._waiting[0][0] <= target.resource_version:
            self._waiting.popleft()[1](True)
        if self.newest.resource_version > target.resource_version:
            self._save()

    def _fail(self, error: BaseException) -> None:
        """Goes back to the durable state and reports the failure to every write that waits."""
        self.failure = error if isinstance(error, Exception) else RuntimeError(str(error))
        self.newest = self.durable
        if is_disk_full(error) and self._store is not None:
            self.full = True
            self._store.release_reserve()
        waiting, self._waiting = self._waiting, deque()
        for _, acknowledge in waiting:
            acknowledge(False)

    def has_room(self) -> bool:
        """Return whether writes that need room are possible; once a second, finds out again."""
        if self.full and self._store is not None and (now := time.monotonic()) >= self._next_try:
            self._next_try = now + _TRY_EVERY
            self._take_reserve()
        return not self.full

    def _take_reserve(self) -> None:
        assert self._store is not None  # only a store can be full
        self.full = not self._store.take_reserve()

    async def finish(self) -> None:
        """Wait until everything is on disk."""
        while self._saving is not None or self._scheduled:
            if self._saving is not None:
                await asyncio.wait([self._saving])
            await asyncio.sleep(0)
        if self._executor is not None:
            self._executor.shutdown()
