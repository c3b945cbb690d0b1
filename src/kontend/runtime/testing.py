"""Unit tests of controllers: a cluster, the controllers, and nothing else to set up.

cluster = Cluster(crds=[WIDGETS], objects=[widget])
settle(cluster, [Widgets()])
assert cluster.get("Widget.example.com/v1", "a")["status"]["phase"] == "Ready"
"""

from __future__ import annotations

from collections.abc import Iterable

from kontend.cluster.cluster import Cluster
from kontend.runtime.controller import Controller
from kontend.runtime.guards import Guards
from kontend.runtime.manager.in_process import InProcessManager, Unsettled

__all__ = ["InProcessManager", "Unsettled", "settle"]


def settle(
    cluster: Cluster,
    controllers: Iterable[Controller] | Controller,
    *,
    seconds: float = 60,
    limit: int = 10_000,
    guards: Guards | None = None,
) -> int:
    """Run controllers as a manager that has just started would, until they come to rest.

    Timers that are due within ``seconds`` are fired, on virtual time, which is the cluster's time too. Returns how many
    reconciles it took. Raises :class:`Unsettled` when they do not come to rest or one keeps failing.

    >>> from kontend.runtime.controller import Controller
    >>> class Labels(Controller):
    ...     kind = "ConfigMap/v1"
    ...     async def reconcile(self, request, api):
    ...         config = await api.get(self.kind, request)
    ...         if "seen" not in config["metadata"].get("labels", {}):
    ...             config["metadata"].setdefault("labels", {})["seen"] = "yes"
    ...             await api.update(config)
    >>> cluster = Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}])
    >>> settle(cluster, Labels())
    2
    >>> cluster.get("ConfigMap/v1", "c")["metadata"]["labels"]
    {'seen': 'yes'}
    """
    given = [controllers] if isinstance(controllers, Controller) else controllers
    return InProcessManager(cluster, given, guards=guards).settle(seconds=seconds, limit=limit)
