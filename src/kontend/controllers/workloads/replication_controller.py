"""The ReplicationController controller: that of ReplicaSets, for the older kind, whose selector is a map of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.workloads.pods import PODS, selecting
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.kube.meta.selectors import LabelSelector, selector_from_labels
from kontend.runtime.controller import Mapper

REPLICATION_CONTROLLERS: Final = "ReplicationController/v1"


class ReplicationControllers(ReplicaSets):
    """Keeps the number of pods of ReplicationControllers."""

    name = "replicationcontroller"
    kind = REPLICATION_CONTROLLERS
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(REPLICATION_CONTROLLERS, selector_from_labels)}
    counts_terminating: ClassVar[bool] = False

    @staticmethod
    def selector(written: Mapping[str, Any]) -> LabelSelector:
        """Read ``spec.selector``, a map of labels."""
        return selector_from_labels(written)
