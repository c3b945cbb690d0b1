"""Volumes and what provides them: PersistentVolume, PersistentVolumeClaim, StorageClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.default_class import default_class
from kontend.kube.builtin.validation.storage import storage_class, volume, volume_claim
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.object_meta import validate_object_meta
from kontend.kube.strategy import ListObjects, Strategy, WithSpecAndStatus, metadata_of, nothing_stored, take_over

PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
PV_PROTECTION: Final = "kubernetes.io/pv-protection"
DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DATA_SOURCE_KINDS: Final = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}


def protect(obj: Json, finalizer: str) -> None:
    """Add a finalizer that keeps the object while it is in use."""
    metadata = metadata_of(obj)
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, finalizer]


class PersistentVolumes(WithSpecAndStatus):
    """Persistent volumes."""

    empty_fields = (("spec", "capacity"),)
    namespaced = False
    returns_deleted_object = True
    generation_fields = ()
    rechecks_metadata = True
    rechecks_metadata_update = False
    zero_status: ClassVar = {"phase": "Pending"}

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:  # noqa: ARG002
        """Protects the volume while it is in use."""
        protect(obj, PV_PROTECTION)

    def prepare_for_create(self, obj: Json) -> None:
        """Start pending, from now on."""
        super().prepare_for_create(obj)
        created = metadata_of(obj).get("creationTimestamp")
        if created:
            obj["status"]["lastPhaseTransitionTime"] = created

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Note the time when the phase changes."""
        super().prepare_for_status_update(new, old, now)
        status, before = new.setdefault("status", {}), old.get("status") or {}
        time = "lastPhaseTransitionTime"
        if status.get("phase", "") == before.get("phase", ""):
            if status.get(time) is None:
                take_over(status, before, time)
        elif now and status.get(time) in (None, before.get(time)):
            status[time] = now

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new volume."""
        return volume.validate_persistent_volume(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed volume."""
        metadata = validate_object_meta(new["metadata"], namespaced=False, name_rule=self.name_rule)
        return metadata + volume.validate_persistent_volume_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return volume.validate_persistent_volume_status(new)


class PersistentVolumeClaims(WithSpecAndStatus):
    """Persistent volume claims."""

    empty_fields = (("spec", "accessModes"),)
    returns_deleted_object = True
    generation_fields = ()
    rechecks_metadata = True
    # The phase is a default that a claim gets when it is read; until the first update the stored one has none.
    zero_status: ClassVar = {}

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Chooses the default storage class if none is asked for, and protects the claim while it is in use."""
        if obj["spec"].get("storageClassName") is None:
            default = default_class(list_objects("storage.k8s.io", "StorageClass"), *DEFAULT_CLASS)
            if default:
                obj["spec"]["storageClassName"] = default
        protect(obj, PVC_PROTECTION)

    def prepare_for_create(self, obj: Json) -> None:
        """Start pending."""
        super().prepare_for_create(obj)
        _normalize_data_sources(obj["spec"])

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep the status."""
        super().prepare_for_update(new, old)
        _normalize_data_sources(new["spec"])

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new claim."""
        return volume_claim.validate_claim(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed claim."""
        return volume_claim.validate_claim_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return volume_claim.validate_claim_status_update(new, old)


def _normalize_data_sources(spec: Json) -> None:
    """Two fields name where a volume's data comes from; the older takes two kinds, and each fills the other."""
    source = spec.get("dataSource")
    if source is not None and spec.get("dataSourceRef") is None:
        if (source.get("apiGroup") or "", source.get("kind")) not in _DATA_SOURCE_KINDS:
            del spec["dataSource"]  # ignored since before the newer field existed
        else:
            spec["dataSourceRef"] = dict(source)
    elif source is None and spec.get("dataSourceRef") is not None and not spec["dataSourceRef"].get("namespace"):
        spec["dataSource"] = dict(spec["dataSourceRef"])


class StorageClasses(Strategy):
    """Storage classes."""

    namespaced = False
    returns_deleted_object = True
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new storage class."""
        return storage_class.validate_storage_class(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed storage class."""
        return storage_class.validate_storage_class_update(new, old)


_STORAGE: Final = "storage.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("", "PersistentVolume"): PersistentVolumes(),
    ("", "PersistentVolumeClaim"): PersistentVolumeClaims(),
    (_STORAGE, "StorageClass"): StorageClasses(),
}
