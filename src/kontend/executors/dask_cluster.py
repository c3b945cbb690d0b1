"""Connections to Dask: a scheduler by its address, or workers on this machine that end with this process.

Workers on this machine listen on the loopback interface only, without a dashboard. They are started once and serve all
searches of this process.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kontend.executors.names import BadExecutor

#: The seconds in which a scheduler must answer.
_PATIENCE: Final = 10.0


class DaskCluster:
    """A client of Dask, and the workers that this process has started."""

    def __init__(self, address: str, count: int) -> None:
        from distributed import Client, LocalCluster

        self.address = address
        self.count = count
        self._workers: Any = None
        if not address:
            with _interrupts_held():
                self._workers = LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    memory_limit=0,  # the search has a limit of its own
                    host="127.0.0.1",
                    dashboard_address=None,
                    silence_logs=50,
                )
        target = self._workers or (address if "://" in address else f"tcp://{address}")
        # Workers on this machine can be reached without a detour over the scheduler.
        self.client = Client(target, timeout=_PATIENCE, set_as_default=False, direct_to_workers=not address or None)

    @property
    def is_open(self) -> bool:
        """The scheduler answers."""
        return bool(self.client.status == "running")

    def close(self) -> None:
        """Disconnect, and stop the workers on this machine."""
        self.client.close()
        if self._workers is not None:
            self._workers.close()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that do not see Ctrl-C, because this one decides when they end; here it is only held back."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_OPEN: dict[str, DaskCluster] = {}


def dask_cluster(address: str, count: int) -> DaskCluster:
    """Connect to the scheduler of an address; without one start ``count`` workers on this machine."""
    known = _OPEN.get(address)
    if known is not None and known.is_open and (address or known.count >= count):
        return known
    close_dask()
    try:
        cluster = DaskCluster(address, count)
    except (OSError, ValueError, RuntimeError) as error:
        place = f"the scheduler at {address}" if address else "this machine"
        raise BadExecutor(f"Dask cannot be used on {place}: {type(error).__name__}: {error}") from error
    _OPEN[address] = cluster
    return cluster


def close_dask() -> None:
    """Close all connections that this module has opened."""
    while _OPEN:
        _, cluster = _OPEN.popitem()
        cluster.close()


atexit.register(close_dask)
