"""Persistent volumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import difference, shown_as
from kontend.kube.builtin.validation.amounts import amount, int64_value
from kontend.kube.builtin.validation.checks import (
    NOT_POSITIVE,
    dns_label,
    dns_subdomain,
    immutable,
    no_backsteps,
    path_of,
)
from kontend.kube.builtin.validation.pods.scheduling import node_selector
from kontend.kube.builtin.validation.pods.volumes import csi_driver_name, host_path, nfs
from kontend.kube.builtin.validation.storage.volume_claim import VOLUME_MODES, access_modes
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json

_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
#: In the order in which the server looks.
_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_SECRETS: Final = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
)  # fmt: skip


def validate_persistent_volume(obj: Json) -> list[FieldError]:
    """Validates a volume."""
    spec = obj.get("spec") or {}
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required("spec.accessModes")]
    errors += access_modes(modes, "spec.accessModes")
    errors += _capacity(spec)
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in _RECLAIM_POLICIES:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        path = "spec.nodeAffinity.required"
        if affinity.get("required") is None:
            errors.append(required(path, "must specify required node constraints"))
        else:
            errors += node_selector(affinity["required"], path)
    errors += _source(spec)
    if path_of(spec, "hostPath", "path") == "/" and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", why))
    if spec.get("storageClassName"):
        errors += dns_subdomain(spec["storageClassName"], "spec.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    attributes, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if attributes is not None:
        errors += dns_subdomain(attributes, path) if attributes else [required(path, "an empty string is disallowed")]
        if spec.get("csi") is None:
            errors.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _capacity(spec: Json) -> list[FieldError]:
    capacity = spec.get("capacity") or {}
    errors = [] if capacity else [required("spec.capacity")]
    if set(capacity) != {"storage"}:
        errors.append(not_supported("spec.capacity", spec.get("capacity"), ("storage",)))
    for name, value in capacity.items():
        path = f"spec.capacity[{name}]"
        if amount(value) < 0:
            errors.append(invalid(path, int64_value(amount(value)), "must be a valid resource quantity"))
        if amount(value) <= 0:
            errors.append(invalid(path, str(value), NOT_POSITIVE))
    return errors


def _source(spec: Json) -> list[FieldError]:
    kinds = [kind for kind in _SOURCES if spec.get(kind) is not None]
    if not kinds:
        return [required("spec", "must specify a volume type")]
    first, source = kinds[0], spec[kinds[0]]
    errors: list[FieldError] = []
    if first == "hostPath":
        errors += host_path(source, "spec.hostPath")
    elif first == "nfs":
        errors += nfs(source, "spec.nfs")
    elif first == "csi":
        errors += _csi(source, "spec.csi")
    elif first == "local":
        target = source.get("path", "")
        errors += no_backsteps(target, "spec.local.path") if target else [required("spec.local.path")]
        if spec.get("nodeAffinity") is None:
            errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    why = "may not specify more than 1 volume type"
    return errors + [forbidden(f"spec.{'cephFS' if kind == 'cephfs' else kind}", why) for kind in kinds[1:]]


def _csi(source: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = csi_driver_name(source.get("driver", ""), f"{path}.driver")
    if not source.get("volumeHandle"):
        errors.append(required(f"{path}.volumeHandle"))
    for field in _SECRETS:
        if source.get(field) is not None:
            name, namespace = source[field].get("name", ""), source[field].get("namespace", "")
            where = f"{path}.{field}"
            errors += dns_subdomain(name, f"{where}.name") if name else [required(f"{where}.name")]
            errors += dns_label(namespace, f"{where}.namespace") if namespace else [required(f"{where}.namespace")]
    return errors


def validate_persistent_volume_update(new: Json, old: Json) -> list[FieldError]:
    """Validates a changed volume: what it is stays."""
    errors = validate_persistent_volume(new)
    errors += errors  # the server looks twice
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    source, old_source = ({kind: version[kind] for kind in _SOURCES if kind in version} for version in (spec, before))
    secret = "controllerExpandSecretRef"
    if "csi" in source and "csi" in old_source and old_source["csi"].get(secret) is None:
        source["csi"] = {key: value for key, value in source["csi"].items() if key != secret}
    if source != old_source:
        what = difference("PersistentVolumeSource", old_source, source)
        why = f"spec.persistentvolumesource is immutable after creation\n{what}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    errors += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    if before.get("nodeAffinity") is not None and spec.get("nodeAffinity") != before["nodeAffinity"]:
        why = "field is immutable, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", shown_as("VolumeNodeAffinity", spec.get("nodeAffinity")), why))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return errors


def validate_persistent_volume_status(new: Json) -> list[FieldError]:
    """Validates a changed status."""
    return [] if path_of(new, "metadata", "resourceVersion") else [required("resourceVersion")]
