"""Connections to Dask: a scheduler by its address, or workers on this machine that end with this process.

Workers on this machine listen on the loopback interface only, without a dashboard. They are started once and serve all
searches of this process.
"""

from __future__ import annotations

import atexit
import signal
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Final

from kontend.executors.names import BadExecutor, host_and_port

#: The seconds in which a scheduler must answer.
_PATIENCE: Final = 10.0
#: The seconds in which Dask starts a lost worker again.
_RESTART: Final = 15
#: Attempts to start workers on this machine: one that is killed while it starts makes the others end, too.
_ATTEMPTS: Final = 5


class DaskCluster:
    """A client of Dask, and the workers that this process has started."""

    def __init__(self, address: str, count: int) -> None:
        from distributed import Client, LocalCluster

        self.address = address
        self.count = count
        self._workers: Any = None
        if not address:
            with _interrupts_held(), warnings.catch_warnings():
                # Dask listens for HTTP on port 8787 of the loopback interface, and announces it where it takes another.
                warnings.simplefilter("ignore")
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
    def is_deserted(self) -> bool:
        """All workers of this machine are gone, and Dask does not start new ones: they ended while they started."""
        if self._workers is None or self.client.scheduler_info(n_workers=-1)["workers"]:
            return False
        try:
            self.client.wait_for_workers(1, timeout=_RESTART)
        except TimeoutError:
            return True
        return False

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
    resource_tracker.ensure_running()  # when it starts, it lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_OPEN: dict[str, DaskCluster] = {}


def dask_cluster(address: str, count: int) -> DaskCluster:
    """Connect to the scheduler of an address; without one start ``count`` workers on this machine."""
    known = _OPEN.get(address)
    if known is not None and known.is_open and not known.is_deserted and (address or known.count >= count):
        return known
    close_dask()
    if address and not address.startswith("tls:"):
        _check_scheduler(address)
    for left in reversed(range(1 if address else _ATTEMPTS)):
        try:
            _OPEN[address] = DaskCluster(address, count)
            break
        except (OSError, ValueError, RuntimeError) as error:
            if not left:
                place = f"the scheduler at {address}" if address else "this machine"
                raise BadExecutor(f"Dask cannot be used on {place}: {type(error).__name__}: {error}") from error
    return _OPEN[address]


def _check_scheduler(address: str) -> None:
    """Wait for the greeting of a scheduler: Dask's client waits forever where something else accepts connections."""
    try:
        with socket.create_connection(host_and_port(address), timeout=_PATIENCE) as connection:
            greeting = connection.recv(1)
    except OSError:
        greeting = b""
    if not greeting:
        raise BadExecutor(f"no Dask scheduler answers at {address}; is the port right?")


def close_dask() -> None:
    """Close all connections that this module has opened."""
    while _OPEN:
        _, cluster = _OPEN.popitem()
        cluster.close()


atexit.register(close_dask)
