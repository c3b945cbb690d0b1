"""Images that are known: servers with the ports that they answer on, and for how long.

Kubernetes' own specs probe servers of the image ``agnhost``, which its first argument chooses. A probe of any other
container passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class _Server:
    port: int
    #: Seconds after which it answers with errors.
    healthy: float = float("inf")


_AGNHOST: Final = {"liveness": _Server(8080, 10), "grpc-health-checking": _Server(5000)}


def is_server(container: Mapping[str, Any]) -> bool:
    """Report whether a container is a server that is known."""
    return _server(container) is not None


def answers(container: Mapping[str, Any], probe: Mapping[str, Any], seconds: float) -> bool:
    """Report whether a container answers a probe, a number of seconds after its start.

    >>> liveness = {"image": "registry/agnhost:2.59", "args": ["liveness"]}
    >>> probe = {"httpGet": {"path": "/healthz", "port": 8080}}
    >>> answers(liveness, probe, 5), answers(liveness, probe, 15)
    (True, False)
    """
    server = _server(container)
    if server is None:
        return True
    wanted = next((probe[kind].get("port") for kind in ("httpGet", "tcpSocket", "grpc") if probe.get(kind)), None)
    return wanted == server.port and seconds < server.healthy


def ends_at_once(container: Mapping[str, Any]) -> bool:
    """Report whether a container without a command has nothing to do: the shell of ``busybox`` reads no input."""
    return _name(container) == "busybox" and not container.get("command") and not container.get("args")


def _server(container: Mapping[str, Any]) -> _Server | None:
    arguments = container.get("args") or [""]
    return _AGNHOST.get(arguments[0]) if _name(container) == "agnhost" and not container.get("command") else None


def _name(container: Mapping[str, Any]) -> str:
    """Return the last part of the name of an image, without its tag and digest."""
    return str(container.get("image") or "").rpartition("/")[2].partition(":")[0].partition("@")[0]
