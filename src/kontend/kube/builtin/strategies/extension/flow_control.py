"""Flow schemas and priority levels, by which a cluster shares out its API server among clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.validation import flow_control
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import STATUS, Strategy, WithSpecAndStatus, metadata_of, take_over


class FlowControl(WithSpecAndStatus):
    """Flow schemas and priority levels; a write to the status leaves all metadata as it is."""

    namespaced = False
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}
    rechecks_metadata = True
    rechecks_metadata_update = False

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep everything but the status and the managed fields."""
        super().prepare_for_status_update(new, old, now)
        managed = metadata_of(new).get("managedFields")
        new["metadata"] = dict(old.get("metadata") or {})
        take_over(new["metadata"], {} if managed is None else {"managedFields": managed}, "managedFields")

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return flow_control.validate_flow_status(new)


class FlowSchemas(FlowControl):
    """Flow schemas."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a flow schema."""
        return flow_control.validate_flow_schema(obj)


class PriorityLevels(FlowControl):
    """Priority levels."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a priority level."""
        return flow_control.validate_priority_level(obj)


_GROUP: Final = "flowcontrol.apiserver.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_GROUP, "FlowSchema"): FlowSchemas(),
    (_GROUP, "PriorityLevelConfiguration"): PriorityLevels(),
}
