"""Persistent volume claims, as objects and as templates in other kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import difference
from kontend.kube.builtin.validation.amounts import amount, int64_value
from kontend.kube.builtin.validation.checks import (
    NOT_POSITIVE,
    bad,
    dns_subdomain,
    immutable,
    label_selector,
    labels,
    path_of,
)
from kontend.kube.field_errors import FieldError, Verbatim, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label
from kontend.kube.meta.object_meta import validate_annotations

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_PATH: Final = Verbatim("{}")


def access_modes(modes: list[str], path: str) -> list[FieldError]:
    """Validate the access modes of a volume."""
    errors = [not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def validate_claim(obj: Json) -> list[FieldError]:
    """Validate a claim."""
    return validate_claim_spec(obj.get("spec") or {}, "spec")


def validate_claim_template(template: Json, path: str) -> list[FieldError]:
    """Validate the template of a claim."""
    metadata = template.get("metadata") or {}
    errors = validate_annotations(metadata.get("annotations") or {}, f"{path}.metadata.annotations")
    errors += labels(metadata.get("labels"), f"{path}.metadata.labels")
    return errors + validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def validate_claim_spec(spec: Json, path: str) -> list[FieldError]:
    """Validate the spec of a claim."""
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    errors += label_selector(spec.get("selector"), f"{path}.selector")
    errors += access_modes(modes, f"{path}.accessModes")
    storage, where = path_of(spec, "resources", "requests", "storage"), f"{path}.resources[storage]"
    if storage is None:
        errors.append(required(where))
    elif amount(storage) <= 0:
        errors.append(invalid(where, str(storage), NOT_POSITIVE))
    if spec.get("storageClassName"):
        errors += dns_subdomain(spec["storageClassName"], f"{path}.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    errors += _data_sources(spec, path)
    if spec.get("volumeAttributesClassName"):
        errors += dns_subdomain(spec["volumeAttributesClassName"], f"{path}.volumeAttributesClassName")
    return errors


def _data_sources(spec: Json, path: str) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors: list[FieldError] = []
    for field, given in (("dataSource", source), ("dataSourceRef", reference)):
        if given is not None:
            errors += _data_source(given, f"{path}.{field}")
    if reference is not None and reference.get("namespace"):
        errors += bad(f"{path}.dataSourceRef.namespace", reference["namespace"], dns1123_label(reference["namespace"]))
        if source is not None:
            why = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(invalid(path, _PATH, why))
    elif source is not None and reference is not None and _names(source) != _names(reference):
        errors.append(invalid(path, _PATH, "must match dataSourceRef"))
    return errors


def _names(source: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(source.get(field) or "" for field in ("apiGroup", "kind", "name"))


def _data_source(source: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, source.get("kind", ""), why))
    return errors + (dns_subdomain(group, f"{path}.apiGroup") if group else [])


def validate_claim_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed claim: a bound one may grow, and little else."""
    errors = validate_claim(new)
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    annotations, old_annotations = ((version.get("metadata") or {}).get("annotations") or {} for version in (new, old))
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    class_name, old_class_name = spec.get("storageClassName"), before.get("storageClassName")
    marked = old_annotations.get(CLASS_ANNOTATION)
    if (
        old_class_name is None
        and class_name is not None
        and class_name == marked
        and annotations.get(CLASS_ANNOTATION, marked) == marked
    ):
        del spec["storageClassName"]
    else:
        now = annotations.get(CLASS_ANNOTATION, "")
        errors += immutable(now, marked or "", f"metadata.annotations.{CLASS_ANNOTATION}")
        if old_class_name is None and class_name is not None and marked in (None, class_name):
            del spec["storageClassName"]
    size, old_size = (path_of(version, "spec", "resources", "requests", "storage") for version in (new, old))
    if path_of(new, "status", "phase") == "Bound":
        resources = dict(spec.get("resources") or {})
        if resources.get("requests") and old_size is not None:
            resources["requests"] = {**resources["requests"], "storage": old_size}
            spec["resources"] = resources
        spec.pop("volumeAttributesClassName", None)
        if "volumeAttributesClassName" in before:
            spec["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    if spec != before:
        what = difference("PersistentVolumeClaimSpec", before, spec)
        errors.append(forbidden("spec", f"{_IMMUTABLE}\n{what}"))
    wanted, capacity = amount(size or "0"), amount(path_of(old, "status", "capacity", "storage") or "0")
    if wanted < amount(old_size or "0") and wanted <= capacity:
        path = "spec.resources.requests.storage"
        errors.append(forbidden(path, "field can not be less than status.capacity"))
    errors += immutable(path_of(new, "spec", "volumeMode"), path_of(old, "spec", "volumeMode"), "volumeMode")
    attributes = path_of(new, "spec", "volumeAttributesClassName")
    removed = attributes != path_of(old, "spec", "volumeAttributesClassName") and not attributes
    if removed and path_of(old, "status", "currentVolumeAttributesClassName") is not None:
        what = "nil" if attributes is None else "empty string"
        why = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        errors.append(forbidden("spec.volumeAttributesClassName", why))
    return errors


def validate_claim_status_update(new: Json, old: Json) -> list[FieldError]:  # noqa: ARG001
    """Validate a changed status."""
    errors = []
    if not path_of(new, "metadata", "resourceVersion"):
        errors.append(required("resourceVersion"))
    if not path_of(new, "spec", "accessModes"):
        errors.append(required("Spec.accessModes"))
    for name, value in (path_of(new, "status", "capacity") or {}).items():
        if amount(value) < 0:
            path = f"status.capacity[{name}]"
            errors.append(invalid(path, int64_value(amount(value)), "must be a valid resource quantity"))
    return errors
