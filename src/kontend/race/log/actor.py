"""The clients of an API server, told apart as far as a log allows.

A pod is known by the name that its token carries. Without that, a client is a user name, a user agent and an address:
the replicas of an operator have the same service account and the same user agent, but not the same address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

#: Programs that carry out what a person has typed.
_BY_HAND: Final = ("kubectl", "oc", "k9s", "lens", "openlens", "freelens", "headlamp", "mozilla", "curl", "helm")
_ACCOUNT: Final = "system:serviceaccount:"
_POD: Final = "authentication.kubernetes.io/pod-name"
#: User names that several programs share, so that the program says more.
_SHARED: Final = ("admin", "system:admin", "kubernetes-admin", "system:anonymous", "minikube-user", "minikube", "")


@dataclass(frozen=True, slots=True)
class Actor:
    """A client of the API server."""

    #: Identifies the client in the log.
    identity: tuple[str, ...]
    #: A name to show; several clients may share it.
    name: str
    #: A person at a terminal, whose writes are deliberate.
    is_user: bool = False


def actor_of(event: Mapping[str, Any]) -> Actor:
    """Return the client of an audit event."""
    user = event.get("impersonatedUser") or event.get("user")
    user = user if isinstance(user, Mapping) else {}
    extra = user.get("extra")
    pods = extra.get(_POD) if isinstance(extra, Mapping) else None
    pod = pods[0] if isinstance(pods, list) and pods and isinstance(pods[0], str) else ""
    addresses = event.get("sourceIPs")
    address = addresses[0] if isinstance(addresses, list) and addresses and isinstance(addresses[0], str) else ""
    return _actor(str(user.get("username") or ""), str(event.get("userAgent") or ""), pod, address)


@lru_cache(maxsize=10_000)
def _actor(username: str, agent: str, pod: str, address: str) -> Actor:
    """One object for each client, so that a long log has few of them.

    >>> _actor("system:serviceaccount:demo:widgets", "manager/v1 (linux/amd64)", "", "10.0.0.7").name
    'widgets'
    >>> _actor("ann@example.com", "kubectl/v1.35.0 (linux/amd64)", "", "10.0.0.9")
    Actor(identity=('ann@example.com', 'by hand'), name='ann@example.com (kubectl)', is_user=True)
    """
    program = agent.partition("/")[0].partition(" ")[0]
    if not username.startswith("system:serviceaccount:") and program.lower() in _BY_HAND:
        return Actor((username, "by hand"), f"{username} ({program})" if username else program, True)
    identity = (username, pod) if pod else (username, agent, address)
    return Actor(identity, pod or _name(username, program))


def _name(username: str, program: str) -> str:
    if username.startswith(_ACCOUNT):
        return username.rpartition(":")[2]
    if username in _SHARED and program:
        return program
    return username.removeprefix("system:") or program or "unknown"
