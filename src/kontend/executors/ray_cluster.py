"""Connections to Ray: a cluster by its address, or one on this machine that ends with this process.

Ray on this machine listens on the loopback interface only, asks for a token, and keeps its files in a directory that
only this user can read. It is started once and serves all searches of this process, because starting takes seconds.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, Final

from kontend.executors.names import BadExecutor, host_and_port

#: Settings of a cluster on this machine. The first one makes Ray listen on the loopback interface; its name comes from
#: the systems where that is the default.
_PRIVATE: Final = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_worker_niceness": "0",  # Ray's workers give way to all other processes of a machine
}
#: The messages of a search are small.
_OBJECT_STORE: Final = 128 * 1024 * 1024
#: The seconds after which a server that is no Ray counts as one.
_PATIENCE: Final = 5.0
#: Attempts to start Ray on this machine: it gives its processes half a minute.
_ATTEMPTS: Final = 4


class RayCluster:
    """Ray, as this process uses it."""

    def __init__(self, ray: Any, address: str, count: int) -> None:
        self.ray = ray
        self.address = address
        #: The number of processors of a cluster on this machine.
        self.count = count
        self.directory: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Disconnect; a cluster on this machine stops."""
        self.ray.shutdown()
        if self.directory is not None:
            self.directory.cleanup()


_OPEN: dict[str, RayCluster] = {}


def ray_cluster(address: str, count: int) -> RayCluster:
    """Connect to the cluster of an address; without one start Ray on this machine, for ``count`` workers."""
    known = _OPEN.get(address)
    if known is not None and known.ray.is_initialized() and (address or known.count >= count):
        return known
    close_ray()
    with quiet():
        import ray

        if ray.is_initialized():  # by the program that calls us: it is the cluster to use, and not ours to stop
            return RayCluster(ray, address, count)
        cluster = RayCluster(ray, address, count)
        try:
            if address:
                _read_settings()
                _connect(ray, address)
            else:
                with private_settings():
                    patiently(lambda: _start(cluster), cluster.close)
        except BadExecutor:
            raise
        except Exception as error:
            place = f"the cluster at {address}" if address else "this machine"
            raise BadExecutor(f"Ray cannot be used on {place}: {type(error).__name__}: {error}") from error
        except BaseException:  # Ctrl-C while processes are being started
            cluster.close()
            raise
        _silence()
    _OPEN[address] = cluster
    return cluster


def close_ray() -> None:
    """Close all connections that this module has opened."""
    while _OPEN:
        _, cluster = _OPEN.popitem()
        cluster.close()


atexit.register(close_ray)


def patiently(start: Callable[[], Any], clean_up: Callable[[], object]) -> Any:
    """Start Ray, again if that fails.

    Other work may keep the machine so busy that Ray's processes are not ready in its own time, and another process may
    take a port that Ray has found free.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return start()
        except Exception:
            clean_up()
    return start()


def _start(cluster: RayCluster) -> None:
    # Paths of sockets are short, so the directory must be near the root.
    short = "/tmp" if Path("/tmp").is_dir() else None
    cluster.directory = TemporaryDirectory(prefix="kontend-ray-", dir=short, ignore_cleanup_errors=True)
    cluster.ray.init(
        address="local",
        num_cpus=cluster.count,
        include_dashboard=False,
        object_store_memory=_OBJECT_STORE,
        log_to_driver=False,
        logging_level="ERROR",
        _temp_dir=cluster.directory.name,
    )


def _silence() -> None:
    """Keep Ray from writing to standard output, where results go, that a worker was lost."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *_, **__: None


def _connect(ray: Any, address: str) -> None:
    if address == "auto" or "://" in address:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    elif _is_client_server(address):
        ray.init(address=f"ray://{address}", log_to_driver=False, logging_level="ERROR")
    else:
        with _on_loopback() if _listens_on_loopback(address) else nullcontext():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")


def _listens_on_loopback(address: str) -> bool:
    """Return whether a cluster listens on the loopback interface only: Ray would look for it at the address of this
    machine."""
    from ray._private import services

    host, port = host_and_port(address)
    if host not in ("localhost", "127.0.0.1", "::1"):
        return False
    try:
        socket.create_connection((services.get_node_ip_address(), port), timeout=_PATIENCE).close()
    except OSError:
        return True
    return False


def _is_client_server(address: str) -> bool:
    """Ask which of Ray's two servers has an address: that of Ray Client, or that of the head itself.

    Ray tries for minutes to reach a head at an address where something else answers.
    """
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return address.endswith(":10001")
    import grpc

    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_PATIENCE)
        except grpc.FutureTimeoutError:
            raise BadExecutor(f"no Ray cluster answers at {address}; is the port right?") from None
        try:
            channel.unary_unary("/ray.rpc.RayletDriver/ClusterInfo")(b"", timeout=_PATIENCE)
        except grpc.RpcError as error:
            return bool(error.code() != grpc.StatusCode.UNIMPLEMENTED)
        return True


@contextmanager
def private_settings() -> Iterator[None]:
    """Start clusters on this machine: on the loopback interface, with tokens unless the user has switched them off."""
    with _environment(_PRIVATE), _on_loopback():
        if os.environ["RAY_AUTH_MODE"] == "token":
            _write_token()
        _read_settings()
        yield


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Take the loopback interface for this machine's address; Ray reads the setting when it is imported."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _read_settings() -> None:
    """Read the settings of Ray from the environment, as the processes that it starts do.

    Ray reads them when it is imported, which may have been earlier and with other settings: by the program that calls
    us, or for another cluster.
    """
    core: Any = import_module("ray._raylet")
    core.Config.initialize("")
    if hasattr(core, "AuthenticationTokenLoader"):  # older versions have no tokens
        core.AuthenticationTokenLoader.instance().reset_cache()


def _write_token() -> None:
    """Write the user's token where there is none.

    Ray would do it, too, but two processes that start at once would overwrite each other's, and everybody could read
    it.
    """
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return
    path = Path.home() / ".ray" / "auth_token"
    with suppress(OSError):  # Ray reports what it cannot write
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent) as file:  # for this user only
            file.write(secrets.token_hex(32))
            file.flush()
            os.link(file.name, path)  # fails if there is a token


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Set environment variables that are not set yet, while Ray starts its processes."""
    added = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out the warnings by which an engine announces its own changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
