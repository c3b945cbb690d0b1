"""Kinds of the Container Storage Interface: drivers, their nodes, capacities, attachments and classes of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.node_labels import selector_warnings
from kontend.kube.builtin.strategies.storage import protect
from kontend.kube.builtin.validation.storage import csi
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.object_meta import validate_object_meta
from kontend.kube.strategy import (
    STATUS,
    ListObjects,
    Strategy,
    WithSpecAndStatus,
    nothing_stored,
)

VAC_PROTECTION: Final = "kubernetes.io/vac-protection"
_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


class VolumeAttachments(WithSpecAndStatus):
    """Volume attachments."""

    namespaced = False
    returns_deleted_object = True
    allow_unconditional_update = False
    generation_fields = ()
    status_resets_metadata = True
    zero_status: ClassVar = {"attached": False}
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}
    rechecks_metadata = True
    rechecks_metadata_update = False

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new attachment."""
        return csi.validate_attachment(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed attachment."""
        return csi.validate_attachment_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status; the server looks at the metadata as well."""
        metadata = validate_object_meta(new["metadata"], namespaced=False, name_rule=self.name_rule)
        return metadata + csi.validate_attachment_update(new, old)


class CsiDrivers(Strategy):
    """CSI drivers, whose generation starts with the first change."""

    namespaced = False
    allow_unconditional_update = False
    returns_deleted_object = True

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count changes of the spec."""
        if new.get("spec") != old.get("spec"):
            self.next_generation(new, old)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new driver."""
        return csi.validate_driver(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed driver."""
        return csi.validate_driver_update(new, old)

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of tokens that may end up in logs."""
        spec, before = new.get("spec") or {}, (old or {}).get("spec") or {}
        asked = spec.get("tokenRequests")
        unchanged = old is not None and asked == before.get("tokenRequests")
        silent = not asked or unchanged or spec.get("serviceAccountTokenInSecrets") is not None
        return [] if silent else [_TOKENS_IN_SECRETS]


class CsiNodes(Strategy):
    """CSI nodes."""

    namespaced = False
    allow_unconditional_update = False
    returns_deleted_object = True
    rechecks_metadata = True
    rechecks_metadata_update = False

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate the drivers of a new node."""
        return csi.validate_node(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate the changed drivers of a node; the server looks at all of it twice."""
        metadata = validate_object_meta(new["metadata"], namespaced=False, name_rule=self.name_rule)
        return metadata + csi.validate_node_update(new, old)


class CsiStorageCapacities(Strategy):
    """CSI storage capacities."""

    allow_unconditional_update = False
    rechecks_metadata = True

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:  # noqa: ARG002
        """Warns of deprecated labels of nodes."""
        return selector_warnings(new.get("nodeTopology"), "nodeTopology")

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new capacity."""
        return csi.validate_capacity(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed capacity."""
        return csi.validate_capacity_update(new, old)


class VolumeAttributesClasses(Strategy):
    """Volume attributes classes."""

    namespaced = False
    returns_deleted_object = True
    rechecks_metadata = True

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:  # noqa: ARG002
        """Protects the class while it is in use."""
        protect(obj, VAC_PROTECTION)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new class."""
        return csi.validate_attributes_class(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed class."""
        return csi.validate_attributes_class_update(new, old)


_STORAGE: Final = "storage.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_STORAGE, "VolumeAttachment"): VolumeAttachments(),
    (_STORAGE, "CSIDriver"): CsiDrivers(),
    (_STORAGE, "CSINode"): CsiNodes(),
    (_STORAGE, "CSIStorageCapacity"): CsiStorageCapacities(),
    (_STORAGE, "VolumeAttributesClass"): VolumeAttributesClasses(),
}
