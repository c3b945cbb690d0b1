"""Security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import descending_path, user_or_group_id
from kontend.kube.field_errors import FieldError, duplicate, invalid, not_supported, required
from kontend.kube.json_types import Json

_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL: Final = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL_PATTERN: Final = re.compile(_SYSCTL)


def pod_security_context(context: Json | None, spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the security context of a pod."""
    if context is None:
        return []
    errors: list[FieldError] = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += user_or_group_id(context.get(field), f"{path}.{field}")
    for index, group in enumerate(context.get("supplementalGroups") or []):
        errors += user_or_group_id(group, f"{path}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, why))
    errors += _sysctls(context.get("sysctls") or [], f"{path}.sysctls")
    for field, allowed in (("fsGroupChangePolicy", ("Always", "OnRootMismatch")),):
        if context.get(field) is not None and context[field] not in allowed:
            errors.append(not_supported(f"{path}.{field}", context[field], allowed))
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    for field, allowed in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if context.get(field) is not None and context[field] not in allowed:
            errors.append(not_supported(f"{path}.{field}", context[field], allowed))
    return errors


def _sysctls(sysctls: list[Json], path: str) -> list[FieldError]:
    errors = []
    names: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        where, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(where))
        elif len(name) > 253 or not _SYSCTL_PATTERN.match(name):
            errors.append(invalid(where, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in names:
            errors.append(duplicate(where, name))
        names.add(name)
    return errors


def container_security_context(context: Json, path: str, *, host_users: bool) -> list[FieldError]:
    """Return the security context of a container."""
    errors = user_or_group_id(context.get("runAsUser"), f"{path}.runAsUser")
    errors += user_or_group_id(context.get("runAsGroup"), f"{path}.runAsGroup")
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        if proc_mount not in ("Default", "Unmasked"):
            errors.append(not_supported(f"{path}.procMount", proc_mount, ("Default", "Unmasked")))
        if host_users and proc_mount == "Unmasked":
            errors.append(invalid(f"{path}.procMount", proc_mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        shown = shown_as("SecurityContext", context)
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, shown, why))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or []):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, shown, why))
    return errors + _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _seccomp(profile: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    errors = []
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _PROFILE_TYPES))
    if kind != "Localhost":
        if localhost is not None:
            why = "can only be set when seccomp type is Localhost"
            errors.append(invalid(f"{path}.localhostProfile", shown_as("SeccompProfile", profile), why))
    elif localhost is None:
        errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
    else:
        errors += descending_path(localhost, f"{path}.localhostProfile")
    return errors


def _app_armor(profile: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILE_TYPES:
        return [not_supported(f"{path}.type", kind, _PROFILE_TYPES)]
    if kind != "Localhost":
        why = "can only be set when AppArmor type is Localhost"
        return [] if localhost is None else [invalid(where, localhost, why)]
    if localhost is None or not localhost.strip():
        return [required(where, "must be set when AppArmor type is Localhost")]
    return [] if localhost == localhost.strip() else [invalid(where, localhost, "must not be padded with whitespace")]
