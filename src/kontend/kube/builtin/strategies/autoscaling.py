"""Horizontal pod autoscalers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from kontend.kube.builtin.validation.workloads import autoscaler
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import Strategy, WithSpecAndStatus


class HorizontalPodAutoscalers(WithSpecAndStatus):
    """Horizontal pod autoscalers, in their second version whatever the client writes."""

    generation_fields = ()
    empty_fields: ClassVar = (
        ("spec", "behavior", "scaleUp", "policies"),
        ("spec", "behavior", "scaleDown", "policies"),
    )
    zero_status: ClassVar = {"desiredReplicas": 0, "currentMetrics": None}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new autoscaler."""
        return autoscaler.validate_autoscaler(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed autoscaler."""
        return autoscaler.validate_autoscaler(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return autoscaler.validate_autoscaler_status(new)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): HorizontalPodAutoscalers(),
}
