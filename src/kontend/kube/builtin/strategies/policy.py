"""Strategies of PodDisruptionBudget and PriorityClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from kontend.kube.builtin.validation.workloads import policy
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import path_segment
from kontend.kube.strategy import Strategy, WithSpecAndStatus


class PodDisruptionBudgets(WithSpecAndStatus):
    """Pod disruption budgets, whose own validation does not look at the metadata."""

    allow_unconditional_update = False
    checks_metadata = False
    rechecks_metadata_update = False
    name_rule = staticmethod(path_segment)
    zero_status: ClassVar = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a pod disruption budget."""
        return policy.validate_disruption_budget(obj)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return policy.validate_disruption_budget_status(new)


class PriorityClasses(Strategy):
    """Priority classes; a generation that is set once and never counted."""

    namespaced = False

    def prepare_for_create(self, obj: Json) -> None:
        """Start with generation 1."""
        obj.setdefault("metadata", {})["generation"] = 1

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new priority class."""
        return policy.validate_priority_class(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed priority class."""
        return policy.validate_priority_class_update(new, old)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("policy", "PodDisruptionBudget"): PodDisruptionBudgets(),
    ("scheduling.k8s.io", "PriorityClass"): PriorityClasses(),
}
