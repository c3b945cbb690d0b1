"""The controllers of kube-controller-manager, a scheduler and node agents, written on this project's runtime.

:func:`controllers` are those of kube-controller-manager, such as garbage collection and Deployments.
:func:`pod_controllers` stand in for the scheduler and the kubelets. They
are ordinary controllers: they run in a unit test, in ``kontend serve --controllers --pods`` and in the explorer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kontend.controllers.batch.cron_job import CronJobs
from kontend.controllers.batch.job import Jobs
from kontend.controllers.batch.ttl_after_finished import FinishedJobs
from kontend.controllers.built_in import custom_kinds
from kontend.controllers.garbage_collector import GarbageCollector
from kontend.controllers.namespace import Namespaces
from kontend.controllers.networking.endpoint_mirroring import EndpointMirroring
from kontend.controllers.networking.endpoint_slice import EndpointSlices
from kontend.controllers.networking.endpoints import Endpoints
from kontend.controllers.nodes.node_agent import Nodes, PodLifecycle
from kontend.controllers.nodes.scheduler import Scheduler
from kontend.controllers.storage.volume_binding import VolumeClaims, Volumes
from kontend.controllers.storage.volume_protection import ClaimProtection, VolumeProtection
from kontend.controllers.workloads.daemon_set import DaemonSets
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.disruption_budget import DisruptionBudgets
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.controllers.workloads.replication_controller import ReplicationControllers
from kontend.controllers.workloads.stateful_set import StatefulSets
from kontend.runtime.controller import Controller

__all__ = [
    "ClaimProtection", "CronJobs", "DaemonSets", "Deployments", "DisruptionBudgets", "EndpointMirroring",
    "EndpointSlices", "Endpoints", "FinishedJobs", "GarbageCollector", "Jobs", "Namespaces", "Nodes", "PodLifecycle",
    "ReplicaSets", "ReplicationControllers", "Scheduler", "StatefulSets", "VolumeClaims", "VolumeProtection",
    "Volumes", "by_name", "controllers", "pod_controllers",
]  # fmt: skip


def controllers(*, only: Sequence[str] = (), custom: Sequence[str] = ()) -> list[Controller]:
    """Return the controllers of kube-controller-manager.

    The garbage collector and the namespace controller look at all kinds: those of Kubernetes and the ``custom`` ones,
    or ``only`` those that are named.

    >>> len(controllers())
    18
    """
    return [
        GarbageCollector(only=only, custom=custom),
        Namespaces(only=only, custom=custom),
        Deployments(),
        ReplicaSets(),
        StatefulSets(),
        DaemonSets(),
        Jobs(),
        CronJobs(),
        FinishedJobs(),
        VolumeClaims(),
        Volumes(),
        ClaimProtection(),
        VolumeProtection(),
        Endpoints(),
        EndpointSlices(),
        EndpointMirroring(),
        ReplicationControllers(),
        DisruptionBudgets(),
    ]


def pod_controllers(*, jobs_end: bool = False, commands: bool = False) -> list[Controller]:
    """Return the controllers that schedule pods and run them; with ``jobs_end``, pods of Jobs end by themselves.

    With ``commands`` the containers end as their commands say, where that can be told without running them; otherwise
    every pod runs until the test ends it.

    >>> [controller.name for controller in pod_controllers()]
    ['node', 'scheduler', 'kubelet']
    """
    return [Nodes(), Scheduler(), PodLifecycle(jobs_end=jobs_end, commands=commands)]


def by_name(definitions: Iterable[Mapping[str, Any]] = ()) -> dict[str, Controller]:
    """One of each, by its name, for a cluster with these custom resource definitions.

    >>> by_name()["deployment"].kind
    'Deployment.apps/v1'
    """
    every = [*controllers(custom=list(custom_kinds(definitions))), *pod_controllers()]
    return {controller.name: controller for controller in every}
