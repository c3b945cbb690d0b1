"""Environment variables of containers, and what they may refer to in the pod."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.amounts import amount
from kontend.kube.builtin.validation.checks import (
    bad,
    dns_label,
    dns_subdomain,
    label_name,
    no_backsteps,
)
from kontend.kube.field_errors import FieldError, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import config_map_key, dns1123_subdomain, env_var_name, without_trailing_dash

ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_CONVERTIBLE: Final = frozenset(
    (*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host")
)
_CONTAINER_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip
_SUBSCRIPTED: Final = re.compile(r"(.*)\['([^']*)'\]", re.DOTALL)
_BYTE_DIVISORS: Final = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_DIVISOR_WORDS: Final = {
    "memory": "memory resource",
    "ephemeral-storage": "local ephemeral storage resource",
    "hugepages": "hugepages resource",
}


def variable_name(name: str, path: str) -> list[FieldError]:
    """Return the name of an environment variable."""
    return bad(path, name, env_var_name(name))


def environment(variables: list[Json] | None, path: str) -> list[FieldError]:
    """Return the variables of a container."""
    errors: list[FieldError] = []
    for index, variable in enumerate(variables or []):
        where = f"{path}[{index}]"
        name = variable.get("name", "")
        errors += variable_name(name, f"{where}.name") if name else [required(f"{where}.name")]
        if variable.get("valueFrom") is not None:
            errors += _value_from(variable, f"{where}.valueFrom")
    return errors


def _value_from(variable: Json, path: str) -> list[FieldError]:
    source = variable["valueFrom"]
    errors: list[FieldError] = []
    count = 0
    if source.get("fieldRef") is not None:
        count += 1
        errors += field_reference(source["fieldRef"], ENV_FIELDS, f"{path}.fieldRef")
    if source.get("resourceFieldRef") is not None:
        count += 1
        errors += resource_reference(source["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=False)
    for field in ("configMapKeyRef", "secretKeyRef"):
        if source.get(field) is not None:
            count += 1
            errors += _key_reference(source[field], f"{path}.{field}")
    if source.get("fileKeyRef") is not None:
        count += 1
        errors += _file_key(source["fileKeyRef"], f"{path}.fileKeyRef")
    if count == 0:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", f"must specify one of: {kinds}"))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _key_reference(reference: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = dns_subdomain(reference.get("name", ""), f"{path}.name")
    key = reference.get("key", "")
    return errors + (bad(f"{path}.key", key, config_map_key(key)) if key else [required(f"{path}.key")])


def _file_key(reference: Mapping[str, Any], path: str) -> list[FieldError]:
    key, volume, file = (reference.get(field, "") for field in ("key", "volumeName", "path"))
    errors = variable_name(key, f"{path}.key") if key else [required(f"{path}.key")]
    errors += dns_label(volume, f"{path}.volumeName") if volume else [required(f"{path}.volumeName")]
    return errors + (no_backsteps(file, f"{path}.path") if file else [required(f"{path}.path")])


def field_reference(reference: Mapping[str, Any], allowed: tuple[str, ...], path: str) -> list[FieldError]:
    """Return a reference to a field of the pod."""
    version, field = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [required(f"{path}.apiVersion")]
    if not field:
        return [required(f"{path}.fieldPath")]
    subscripted = _SUBSCRIPTED.fullmatch(field)
    why = ""
    if version != "v1":
        why = f"unsupported pod version: {version}"
    elif subscripted and subscripted[1] not in ("metadata.annotations", "metadata.labels"):
        why = f"field label does not support subscript: {field}"
    elif not subscripted and field not in _CONVERTIBLE:
        why = f"field label not supported: {field}"
    if why:
        return [invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {why}")]
    if subscripted:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        return label_name(key, path)
    field = "spec.nodeName" if field == "spec.host" else field
    return [] if field in allowed else [not_supported(f"{path}.fieldPath", field, allowed)]


def resource_reference(reference: Mapping[str, Any], path: str, *, in_volume: bool) -> list[FieldError]:
    """Return a reference to a request or limit of a container."""
    resource = reference.get("resource", "")
    errors: list[FieldError] = []
    if in_volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _CONTAINER_RESOURCES and not _is_huge_pages(resource):
        errors.append(not_supported(f"{path}.resource", resource, _CONTAINER_RESOURCES))
    divisor = reference.get("divisor") or "0"
    if amount(divisor) == 0:
        return errors
    kind = "hugepages" if _is_huge_pages(resource) else resource.partition(".")[2]
    if kind == "cpu" and divisor not in ("1m", "1"):
        why = "only divisor's values 1m and 1 are supported with the cpu resource"
        errors.append(invalid(f"{path}.divisor", resource, why))
    elif kind in _DIVISOR_WORDS and divisor not in _BYTE_DIVISORS.split(", "):
        why = f"only divisor's values {_BYTE_DIVISORS} are supported with the {_DIVISOR_WORDS[kind]}"
        errors.append(invalid(f"{path}.divisor", resource, why))
    return errors


def _is_huge_pages(resource: str) -> bool:
    return resource.startswith(("requests.hugepages-", "limits.hugepages-"))


def environment_sources(sources: list[Json] | None, path: str) -> list[FieldError]:
    """Config maps and secrets that become variables as a whole."""
    errors: list[FieldError] = []
    for index, source in enumerate(sources or []):
        where = f"{path}[{index}]"
        if source.get("prefix"):
            errors += variable_name(source["prefix"], f"{where}.prefix")
        given = [field for field in ("configMapRef", "secretRef") if source.get(field) is not None]
        for field in given:
            name = source[field].get("name", "")
            # A trailing dash passes, as in a prefix for generated names.
            messages = dns1123_subdomain(without_trailing_dash(name))
            errors += bad(f"{where}.{field}.name", name, messages) if name else [required(f"{where}.{field}.name")]
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
