"""The kinds that come with Kubernetes: one strategy each, found by group and kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from kontend.kube.strategy import Strategy

#: The modules that have the kinds of each group. A group is imported when an object of it is first written or
#: described: all of them take a third of the time in which the server starts, and most servers see few of them.
_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("config", "nodes", "pods", "services", "storage", "workloads"),
    "admissionregistration.k8s.io": ("extension.registration",),
    "apiextensions.k8s.io": ("extension.definitions",),
    "apiregistration.k8s.io": ("extension.aggregation",),
    "apps": ("workloads",),
    "autoscaling": ("autoscaling",),
    "batch": ("batch",),
    "certificates.k8s.io": ("extension.certificates",),
    "coordination.k8s.io": ("coordination",),
    "discovery.k8s.io": ("services",),
    "events.k8s.io": ("config",),
    "flowcontrol.apiserver.k8s.io": ("extension.flow_control",),
    "networking.k8s.io": ("networking",),
    "node.k8s.io": ("nodes",),
    "policy": ("policy",),
    "rbac.authorization.k8s.io": ("access",),
    "resource.k8s.io": ("devices",),
    "scheduling.k8s.io": ("policy",),
    "storage.k8s.io": ("csi", "storage"),
}
_DEFAULT: Final = Strategy()


@cache
def _of_group(group: str) -> Mapping[str, Strategy]:
    areas = [import_module(f"kontend.kube.builtin.strategies.{name}") for name in _MODULES.get(group, ())]
    return {kind: strategy for area in areas for (of, kind), strategy in area.STRATEGIES.items() if of == group}


def every_strategy() -> dict[tuple[str, str], Strategy]:
    """Return the strategies of all kinds that have one."""
    return {(group, kind): strategy for group in _MODULES for kind, strategy in _of_group(group).items()}


def strategy_for(group: str, kind: str) -> Strategy:
    """Return the strategy of a built-in kind; the default one for a kind that is not listed.

    >>> strategy_for("coordination.k8s.io", "Lease").allow_unconditional_update
    False
    """
    return _of_group(group).get(kind, _DEFAULT)
