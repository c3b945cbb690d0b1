"""The kinds that come with Kubernetes: one strategy each, found by group and kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kontend.kube.builtin.strategies import (
    access,
    autoscaling,
    batch,
    config,
    coordination,
    csi,
    devices,
    networking,
    nodes,
    pods,
    policy,
    services,
    storage,
    workloads,
)
from kontend.kube.builtin.strategies.extension import aggregation, certificates, definitions, registration
from kontend.kube.strategy import Strategy

_AREAS: Final = (
    access, aggregation, autoscaling, batch, certificates, config, coordination, csi, definitions, devices, networking,
    nodes, pods, policy, registration, services, storage, workloads,
)  # fmt: skip
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    key: strategy for area in _AREAS for key, strategy in area.STRATEGIES.items()
}
_DEFAULT: Final = Strategy()


def strategy_for(group: str, kind: str) -> Strategy:
    """Return the strategy of a built-in kind; the default one for a kind that is not listed.

    >>> strategy_for("coordination.k8s.io", "Lease").allow_unconditional_update
    False
    """
    return STRATEGIES.get((group, kind), _DEFAULT)
