"""Nodes and runtime classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.admission.pods import NOT_READY
from kontend.kube.builtin.node_labels import DEPRECATED
from kontend.kube.builtin.validation import node
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import STATUS, ListObjects, Strategy, WithOwnFieldLabels, nothing_stored, take_over


class Nodes(WithOwnFieldLabels):
    """Nodes; a create may set the status at once."""

    namespaced = False
    reset_fields: ClassVar = {"": STATUS, "status": (("spec",),)}
    selectable = ("spec.unschedulable",)
    rechecks_metadata = True

    def convert(self, obj: Json) -> None:
        """Keep the single range of the node's pods and the list of them in step."""
        spec = obj.get("spec") or {}
        primary, ranges = spec.get("podCIDR", ""), spec.get("podCIDRs") or []
        if primary and ranges[:1] != [primary]:
            spec["podCIDRs"] = [primary]
        elif ranges and ranges[0]:
            spec["podCIDR"] = ranges[0]

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:  # noqa: ARG002
        """Keep pods away until the node reports that it is ready."""
        spec = obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]

    def prepare_for_create(self, obj: Json) -> None:
        """Drop the long gone dynamic kubelet configuration."""
        (obj.get("spec") or {}).pop("configSource", None)
        (obj.get("status") or {}).pop("config", None)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep the status."""
        take_over(new, old, "status")
        if (old.get("spec") or {}).get("configSource") is None:
            (new.get("spec") or {}).pop("configSource", None)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep the spec."""
        super().prepare_for_status_update(new, old, now)
        if (old.get("status") or {}).get("config") is None:
            (new.get("status") or {}).pop("config", None)

    def canonical_field_label(self, label: str) -> str | None:
        """Nodes are not in a namespace."""
        return None if label == "metadata.namespace" else super().canonical_field_label(label)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        unschedulable = "true" if (obj.get("spec") or {}).get("unschedulable") else "false"
        return {**super().field_labels(obj), "spec.unschedulable": unschedulable}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new node."""
        return node.validate_node(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed node."""
        return node.validate_node(new) + node.validate_node_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return node.validate_node_update(new, old)


class RuntimeClasses(Strategy):
    """Runtime classes."""

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:  # noqa: ARG002
        """Warns of deprecated labels of nodes."""
        names = sorted((new.get("scheduling") or {}).get("nodeSelector") or ())
        return [f"scheduling.nodeSelector: {DEPRECATED[name]}" for name in names if name in DEPRECATED]

    namespaced = False
    allow_unconditional_update = False
    allow_create_on_update = True
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new runtime class."""
        return node.validate_runtime_class(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed runtime class."""
        return node.validate_runtime_class_update(new, old)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("", "Node"): Nodes(),
    ("node.k8s.io", "RuntimeClass"): RuntimeClasses(),
}
