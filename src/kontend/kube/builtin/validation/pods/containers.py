"""The containers of a pod: regular, init and ephemeral ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kontend.kube.builtin.validation.checks import (
    PROTOCOLS,
    bad,
    descending_path,
    dns_label,
    no_backsteps,
    one_of,
    port_number,
)
from kontend.kube.builtin.validation.pods.environment import environment, environment_sources
from kontend.kube.builtin.validation.pods.probes import lifecycle, probes
from kontend.kube.builtin.validation.pods.security import container_security_context
from kontend.kube.builtin.validation.resources import resource_requirements
from kontend.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import port_name

_NOT_EPHEMERAL: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy",
)  # fmt: skip
_PROBES_AND_HOOKS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts of a pod that the checks of its containers need."""

    volumes: Mapping[str, Json]
    claims: frozenset[str]
    grace_period: int | None
    restart_policy: str
    host_users: bool
    os: str


def regular_containers(containers: list[Json], pod: Surroundings, path: str) -> list[FieldError]:
    """Return the containers that run together; there must be one."""
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        errors += _container(container, pod, where)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        errors += lifecycle(container.get("lifecycle"), pod.grace_period, f"{where}.lifecycle", pod.os)
        errors += probes(container, pod.grace_period, where)
        errors += _restart_policy(container, where)
    return errors + _host_port_conflicts(containers, path)


def init_containers(containers: list[Json], names: set[str], pod: Surroundings, path: str) -> list[FieldError]:
    """Return the containers that run before the regular ones, whose ``names`` they may not use."""
    errors: list[FieldError] = []
    names = set(names)
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        errors += _container(container, pod, where)
        policy = container.get("restartPolicy")
        if policy == "Always" and container.get("restartPolicyRules"):
            why = "restartPolicyRules are not allowed for init containers with restart policy Always"
            errors.append(forbidden(f"{where}.restartPolicyRules", why))
        elif policy != "Always":
            errors += _restart_policy(container, where)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        elif name:
            names.add(name)
        errors += _host_port_conflicts([container], path)
        if policy == "Always":
            errors += lifecycle(container.get("lifecycle"), pod.grace_period, f"{where}.lifecycle", pod.os)
            errors += probes(container, pod.grace_period, where)
        else:
            errors += [
                forbidden(f"{where}.{f}", _NOT_FOR_INIT) for f in _PROBES_AND_HOOKS if container.get(f) is not None
            ]
    return errors


def ephemeral_containers(containers: list[Json], names: set[str], pod: Surroundings, path: str) -> list[FieldError]:
    """Return the containers that are put into a running pod to look at it; ``names`` are those of all others."""
    errors: list[FieldError] = []
    seen = set(names)
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        errors += _container(container, pod, where) + image_of_pod(container, where)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.add(name)
        if target and target not in names:
            errors.append(not_found(f"{where}.targetContainerName", target))
        why = "cannot be set for an Ephemeral Container"
        errors += [forbidden(f"{where}.{field}", why) for field in _NOT_EPHEMERAL if container.get(field)]
        for mount_index, mount in enumerate(container.get("volumeMounts") or []):
            errors += [
                forbidden(f"{where}.volumeMounts[{mount_index}].{field}", why)
                for field in ("subPath", "subPathExpr")
                if mount.get(field)
            ]
    return errors


def image_of_pod(container: Json, path: str) -> list[FieldError]:
    """Validate the image of a pod, where pods are stricter than pod templates."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _container(container: Json, pod: Surroundings, path: str) -> list[FieldError]:
    name = container.get("name", "")
    errors = dns_label(name, f"{path}.name") if name else [required(f"{path}.name")]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    errors += one_of(policy, f"{path}.terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    mounts, devices = container.get("volumeMounts") or [], container.get("volumeDevices") or []
    if container.get("ports"):
        errors += _ports(container["ports"], f"{path}.ports")
    if container.get("env"):
        errors += environment(container["env"], f"{path}.env")
    if container.get("envFrom"):
        errors += environment_sources(container["envFrom"], f"{path}.envFrom")
    if mounts:
        errors += _mounts(container, mounts, devices, pod.volumes, f"{path}.volumeMounts")
    if devices:
        errors += _devices(devices, mounts, pod.volumes, f"{path}.volumeDevices")
    errors += one_of(
        container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy", ("Always", "IfNotPresent", "Never")
    )
    if container.get("resources"):
        errors += resource_requirements(container["resources"], pod.claims, f"{path}.resources")
    if container.get("resizePolicy"):
        errors += _resize_policy(container["resizePolicy"], pod.restart_policy, f"{path}.resizePolicy")
    if container.get("securityContext"):
        errors += container_security_context(
            container["securityContext"], f"{path}.securityContext", host_users=pod.host_users
        )
    return errors


def _ports(ports: list[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name", "")
        if name:
            messages = port_name(name)
            errors += bad(f"{where}.name", name, messages)
            if not messages and name in names:
                errors.append(duplicate(f"{where}.name", name))
            elif not messages:
                names.add(name)
        number = port.get("containerPort") or 0
        errors += port_number(number, f"{where}.containerPort") if number else [required(f"{where}.containerPort")]
        if port.get("hostPort"):
            errors += port_number(port["hostPort"], f"{where}.hostPort")
        errors += one_of(port.get("protocol", ""), f"{where}.protocol", PROTOCOLS)
    return errors


def _host_port_conflicts(containers: list[Json], path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for port_index, port in enumerate(container.get("ports") or []):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                errors.append(duplicate(f"{path}[{index}].ports[{port_index}].hostPort", key))
            seen.add(key)
    return errors


def _mounts(
    container: Json, mounts: list[Json], devices: list[Json], volumes: Mapping[str, Json], path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    device_paths = {device.get("name", ""): device.get("devicePath", "") for device in devices}
    targets: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        if not target:
            errors.append(required(f"{where}.mountPath"))
        if target in targets:
            errors.append(invalid(f"{where}.mountPath", target, "must be unique"))
        targets.add(target)
        if name in device_paths:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if target in device_paths.values():
            errors.append(invalid(f"{where}.mountPath", target, "must not already exist as a path in volumeDevices"))
        sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
        if sub_path:
            errors += descending_path(sub_path, f"{path}.subPath")
        if expression:
            if sub_path:
                why = "subPathExpr and subPath are mutually exclusive"
                errors.append(invalid(f"{where}.subPathExpr", expression, why))
            errors += descending_path(expression, f"{path}.subPathExpr")
        errors += _propagation(container, mount, path)
    return errors


def _propagation(container: Json, mount: Json, path: str) -> list[FieldError]:
    errors = []
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        modes = ("Bidirectional", "HostToContainer", "None")
        if propagation not in modes:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, modes))
        if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            why = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", why))
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            errors.append(forbidden(f"{path}.recursiveReadOnly", "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(f"{path}.recursiveReadOnly", why))
    elif recursive not in (None, "Disabled"):
        errors.append(not_supported(f"{path}.recursiveReadOnly", recursive, ("Disabled", "Enabled", "IfPossible")))
    return errors


def _devices(devices: list[Json], mounts: list[Json], volumes: Mapping[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    mounted = {mount.get("name", ""): mount.get("mountPath", "") for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        where, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        volume = volumes.get(name)
        if not name:
            errors.append(required(f"{where}.name"))
        if name in names:
            errors.append(invalid(f"{where}.name", name, "must be unique"))
        if volume is None:
            errors.append(not_found(f"{where}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{where}.name", name, why))
        if not target:
            errors.append(required(f"{where}.devicePath"))
        if target in paths:
            errors.append(invalid(f"{where}.devicePath", target, "must be unique"))
        if no_backsteps(target, ""):
            errors.append(invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            paths.add(target)
        if name in mounted:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if target in mounted.values():
            errors.append(invalid(f"{where}.devicePath", target, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
    return errors


def _resize_policy(policies: list[Json], restart_policy: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(f"{path}[{index}]", resource))
        seen.add(resource)
        errors += one_of(resource, path, ("cpu", "memory"))
        errors += one_of(restart, path, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
    return errors


def _restart_policy(container: Json, path: str) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    errors: list[FieldError] = []
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            errors.append(required(f"{path}.restartPolicy", why))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    for index, rule in enumerate(rules):
        where = f"{path}.restartPolicyRules[{index}]"
        if rule.get("action", "") != "Restart":
            errors.append(not_supported(f"{where}.action", rule.get("action", ""), ("Restart",)))
        codes: Any = rule.get("exitCodes")
        if codes is None:
            errors.append(required(f"{where}.exitCodes", "must be specified"))
        elif codes.get("operator", "") not in ("In", "NotIn"):
            errors.append(not_supported(f"{where}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
    return errors
