"""The volumes of a pod, each of exactly one type.

Types that are gone from every current cluster (the in-tree cloud disks and the like) are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.amounts import amount
from kontend.kube.builtin.validation.checks import (
    bad,
    descending_path,
    dns_label,
    file_mode,
    no_backsteps,
    non_reserved_path,
    one_of,
)
from kontend.kube.builtin.validation.pods.environment import VOLUME_FIELDS, field_reference, resource_reference
from kontend.kube.builtin.validation.storage.volume_claim import validate_claim_template
from kontend.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
)
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain

#: In the order in which the server looks; some appear under another name in its messages.
_TYPES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_NAMES_WHEN_TOO_MANY: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip


def volumes(given: list[Json], pod_name: str, path: str, *, in_pod: bool) -> tuple[dict[str, Json], list[FieldError]]:
    """Return the valid volumes by name, and the errors of the others."""
    errors: list[FieldError] = []
    good: dict[str, Json] = {}
    made = {
        f"{pod_name}-{volume.get('name', '')}" for volume in given if pod_name and volume.get("ephemeral") is not None
    }
    for index, volume in enumerate(given):
        where, name = f"{path}[{index}]", volume.get("name", "")
        volume_errors = _volume(volume, pod_name, where, in_pod=in_pod)
        volume_errors += dns_label(name, f"{where}.name") if name else [required(f"{where}.name")]
        if name in good:
            volume_errors.append(duplicate(f"{where}.name", name))
        if not volume_errors:
            good[name] = volume
        errors += volume_errors
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim and claim in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim, why))
    return good, errors


def _volume(volume: Json, pod_name: str, path: str, *, in_pod: bool) -> list[FieldError]:
    kinds = [kind for kind in _TYPES if volume.get(kind) is not None]
    if not kinds:
        return [required(path, "must specify a volume type")]
    first = kinds[0]
    check = _CHECKS.get(first)
    errors = check(volume[first], f"{path}.{first}") if check else []
    name = volume.get("name", "")
    if first == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        messages = (f"PVC name {go_quote(claim)}: {message}" for message in dns1123_subdomain(claim))
        errors += bad(f"{path}.name", name, messages)
    if first == "image" and in_pod and not volume["image"].get("reference"):
        errors.insert(0, required(f"{path}.image.reference"))
    why = "may not specify more than 1 volume type"
    return errors + [forbidden(f"{path}.{_NAMES_WHEN_TOO_MANY.get(kind, kind)}", why) for kind in kinds[1:]]


def _empty_dir(source: Json, path: str) -> list[FieldError]:
    if source.get("sizeLimit") is not None and amount(source["sizeLimit"]) < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def host_path(source: Json, path: str) -> list[FieldError]:
    """Return a directory or file of the node."""
    target, kind = source.get("path", ""), source.get("type")
    if not target:
        return [required(f"{path}.path")]
    errors = no_backsteps(target, f"{path}.path")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return errors


def _git_repo(source: Json, path: str) -> list[FieldError]:
    errors = [] if source.get("repository") else [required(f"{path}.repository")]
    return errors + descending_path(source.get("directory", ""), f"{path}.directory")


def nfs(source: Json, path: str) -> list[FieldError]:
    """Return a share of an NFS server."""
    errors = [] if source.get("server") else [required(f"{path}.server")]
    target = source.get("path", "")
    if not target:
        errors.append(required(f"{path}.path"))
    if not target.startswith("/"):
        errors.append(invalid(f"{path}.path", target, "must be an absolute path"))
    return errors


def _secret(source: Json, path: str) -> list[FieldError]:
    errors = [] if source.get("secretName") else [required(f"{path}.secretName")]
    return errors + file_mode(source.get("defaultMode"), f"{path}.defaultMode") + _items(source, path)


def _config_map(source: Json, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name")]
    return errors + file_mode(source.get("defaultMode"), f"{path}.defaultMode") + _items(source, path)


def _items(source: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, item in enumerate(source.get("items") or []):
        errors += _key_to_path(item, f"{path}.items[{index}]")
    return errors


def _key_to_path(item: Json, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("key", "path") if not item.get(field)]
    errors += non_reserved_path(item.get("path", ""), f"{path}.path")
    return errors + file_mode(item.get("mode"), f"{path}.mode")


def _claim(source: Json, path: str) -> list[FieldError]:
    return [] if source.get("claimName") else [required(f"{path}.claimName")]


def _downward_api(source: Json, path: str) -> list[FieldError]:
    errors = file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for file in source.get("items") or []:
        errors += _downward_file(file, path)
    return errors


def _downward_file(file: Json, path: str) -> list[FieldError]:
    errors = [] if file.get("path") else [required(f"{path}.path")]
    errors += non_reserved_path(file.get("path", ""), f"{path}.path")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += field_reference(field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", why))
    elif resource is not None:
        errors += resource_reference(resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + file_mode(file.get("mode"), f"{path}.mode")


def _projected(source: Json, path: str) -> list[FieldError]:
    errors = file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    used: set[str] = set()
    for index, projection in enumerate(source.get("sources") or []):
        errors += _projection(projection, used, f"{path}.sources[{index}]", path)
    return errors


def _projection(projection: Json, used: set[str], where: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []

    def claim(target: str, shown: str) -> None:
        if target and target in used:
            errors.append(invalid(path, shown, "conflicting duplicate paths"))
        used.add(target)

    for kind in ("secret", "configMap"):
        given = projection.get(kind)
        if given is None:
            continue
        name = given.get("name", "")
        if not name:
            errors.append(required(f"{where}.{kind}.name"))
        for index, item in enumerate(given.get("items") or []):
            errors += _key_to_path(item, f"{where}.{kind}.items[{index}]")
            claim(item.get("path", ""), name)
    for file in (projection.get("downwardAPI") or {}).get("items") or []:
        errors += _downward_file(file, f"{where}.downwardAPI")
        claim(file.get("path", ""), file.get("path", ""))
    token = projection.get("serviceAccountToken")
    if token is not None:
        seconds, target = token.get("expirationSeconds") or 0, token.get("path", "")
        if seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{where}.serviceAccountToken.expirationSeconds", seconds, why))
        if seconds > 1 << 32:
            why = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{where}.serviceAccountToken.expirationSeconds", seconds, why))
        errors += non_reserved_path(target, f"{path}.path") if target else [required(f"{path}.path")]
    if sum(value is not None for value in projection.values()) > 1:
        errors.append(forbidden(where, "may not specify more than 1 volume type per source"))
    return errors


def csi_driver_name(name: str, path: str) -> list[FieldError]:
    """Return the name of a driver of the container storage interface."""
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name) > 63 else []
    return errors + bad(path, name, dns1123_subdomain(name.lower()))


def _csi(source: Json, path: str) -> list[FieldError]:
    errors = csi_driver_name(source.get("driver", ""), f"{path}.driver")
    reference = source.get("nodePublishSecretRef")
    if reference is not None:
        name = reference.get("name", "")
        if not name:
            errors.append(required(f"{path}.nodePublishSecretRef.name"))
        errors += bad(f"{path}.name", name, dns1123_subdomain(name)) if name else []
    return errors


def _ephemeral(source: Json, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{path}.volumeClaimTemplate")]
    return validate_claim_template(template, f"{path}.volumeClaimTemplate")


def _image(source: Json, path: str) -> list[FieldError]:
    return one_of(source.get("pullPolicy", ""), f"{path}.pullPolicy", ("Always", "IfNotPresent", "Never"))


_CHECKS: Final[Mapping[str, Callable[[Json, str], list[FieldError]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _git_repo,
    "secret": _secret,
    "nfs": nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward_api,
    "configMap": _config_map,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
