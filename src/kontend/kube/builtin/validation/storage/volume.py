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
from kontend.kube.meta.equality import same

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


_NOT_INLINE: Final = "may not be specified in the context of inline volumes"


def validate_persistent_volume(obj: Json) -> list[FieldError]:
    """Validate a volume."""
    return volume_spec(obj.get("spec") or {}, "spec")


def volume_spec(spec: Json, path: str, *, inline: bool = False) -> list[FieldError]:
    """Validate the spec of a volume; one that stands ``inline`` in an attachment may say less."""
    errors = _inline(spec, path) if inline else []
    modes = spec.get("accessModes") or []
    errors += [] if modes else [required(f"{path}.accessModes")]
    errors += access_modes(modes, f"{path}.accessModes")
    errors += [] if inline else _capacity(spec, f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    errors += _reclaim_policy(policy, f"{path}.persistentVolumeReclaimPolicy", inline=inline)
    affinity = spec.get("nodeAffinity")
    if affinity is not None and inline:
        errors.append(forbidden(f"{path}.nodeAffinity", _NOT_INLINE))
    elif affinity is not None:
        where = f"{path}.nodeAffinity.required"
        if affinity.get("required") is None:
            errors.append(required(where, "must specify required node constraints"))
        else:
            errors += node_selector(affinity["required"], where)
    errors += _source(spec, path)
    if path_of(spec, "hostPath", "path") == "/" and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    errors += _class_name(spec.get("storageClassName") or "", f"{path}.storageClassName", inline=inline)
    mode = spec.get("volumeMode")
    if mode is not None and inline and mode != "Filesystem":
        why = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(f"{path}.volumeMode", why))
    elif mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    attributes, where = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if attributes is not None:
        errors += dns_subdomain(attributes, where) if attributes else [required(where, "an empty string is disallowed")]
        if spec.get("csi") is None:
            errors.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _inline(spec: Json, path: str) -> list[FieldError]:
    errors = [forbidden(f"{path}.{field}", _NOT_INLINE) for field in ("claimRef", "capacity") if spec.get(field)]
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    return errors


def _reclaim_policy(policy: str, path: str, *, inline: bool) -> list[FieldError]:
    if inline:
        why = "may only be Retain in the context of inline volumes"
        return [forbidden(path, why)] if policy not in ("", "Retain") else []
    return [not_supported(path, policy, _RECLAIM_POLICIES)] if policy and policy not in _RECLAIM_POLICIES else []


def _class_name(name: str, path: str, *, inline: bool) -> list[FieldError]:
    if not name:
        return []
    return [forbidden(path, _NOT_INLINE)] if inline else dns_subdomain(name, path)


def _capacity(spec: Json, path: str) -> list[FieldError]:
    capacity = spec.get("capacity") or {}
    errors = [] if capacity else [required(path)]
    if set(capacity) != {"storage"}:
        errors.append(not_supported(path, spec.get("capacity"), ("storage",)))
    for name, value in capacity.items():
        where = f"{path}[{name}]"
        if amount(value) < 0:
            errors.append(invalid(where, int64_value(amount(value)), "must be a valid resource quantity"))
        if amount(value) <= 0:
            errors.append(invalid(where, str(value), NOT_POSITIVE))
    return errors


def _source(spec: Json, path: str) -> list[FieldError]:
    kinds = [kind for kind in _SOURCES if spec.get(kind) is not None]
    if not kinds:
        return [required(path, "must specify a volume type")]
    first, source = kinds[0], spec[kinds[0]]
    errors: list[FieldError] = []
    if first == "hostPath":
        errors += host_path(source, f"{path}.hostPath")
    elif first == "nfs":
        errors += nfs(source, f"{path}.nfs")
    elif first == "csi":
        errors += _csi(source, f"{path}.csi")
    elif first == "local":
        target = source.get("path", "")
        errors += no_backsteps(target, f"{path}.local.path") if target else [required(f"{path}.local.path")]
        if spec.get("nodeAffinity") is None:
            errors.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    why = "may not specify more than 1 volume type"
    return errors + [forbidden(f"{path}.{'cephFS' if kind == 'cephfs' else kind}", why) for kind in kinds[1:]]


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
    """Validate a changed volume: what it is stays."""
    errors = validate_persistent_volume(new)
    errors += errors  # the server looks twice
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    source, old_source = ({kind: version[kind] for kind in _SOURCES if kind in version} for version in (spec, before))
    secret = "controllerExpandSecretRef"
    if "csi" in source and "csi" in old_source and old_source["csi"].get(secret) is None:
        source["csi"] = {key: value for key, value in source["csi"].items() if key != secret}
    if not same(source, old_source):
        what = difference("PersistentVolumeSource", old_source, source)
        why = f"spec.persistentvolumesource is immutable after creation\n{what}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    errors += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    if before.get("nodeAffinity") is not None and not same(spec.get("nodeAffinity"), before["nodeAffinity"]):
        why = "field is immutable, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", shown_as("VolumeNodeAffinity", spec.get("nodeAffinity")), why))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return errors


def validate_persistent_volume_status(new: Json) -> list[FieldError]:
    """Validate a changed status."""
    return [] if path_of(new, "metadata", "resourceVersion") else [required("resourceVersion")]
