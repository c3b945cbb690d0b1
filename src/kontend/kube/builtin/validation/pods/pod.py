"""Pods and the spec that they share with pod templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import (
    bad,
    descending_path,
    dns_label,
    dns_subdomain,
    label_name,
    labels,
    one_of,
    valid_ip,
)
from kontend.kube.builtin.validation.pods.containers import (
    Surroundings,
    ephemeral_containers,
    image_of_pod,
    init_containers,
    regular_containers,
)
from kontend.kube.builtin.validation.pods.scheduling import affinity, spread_constraints, tolerations
from kontend.kube.builtin.validation.pods.security import pod_security_context
from kontend.kube.builtin.validation.pods.volumes import volumes
from kontend.kube.builtin.validation.resources import pod_resource_name, resource_requirements
from kontend.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from kontend.kube.golang.strconv import whole_number
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain, dns1123_subdomain_with_underscore

MIRROR_POD: Final = "kubernetes.io/config.mirror"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_DELETION_COST: Final = re.compile(r"0|-?[1-9][0-9]*")
_MAX_INT32: Final = 2147483647
_NO_CLAIMS: Final[frozenset[str]] = frozenset()


def validate_pod(pod: Json) -> list[FieldError]:
    """Validate a new pod."""
    spec = pod.get("spec") or {}
    errors = validate_pod_metadata_and_spec(pod)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def validate_pod_metadata_and_spec(pod: Json) -> list[FieldError]:
    """Validate any pod, apart from its name and labels."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    errors = pod_annotations(metadata.get("annotations") or {}, spec, "metadata.annotations")
    errors += validate_pod_spec(spec, "spec", pod_name=metadata.get("name", ""), in_pod=True)
    if not spec.get("serviceAccountName"):
        why = "must not be specified when serviceAccountName is not set"
        for index, volume in enumerate(spec.get("volumes") or []):
            for source, projection in enumerate((volume.get("projected") or {}).get("sources") or []):
                if projection.get("serviceAccountToken") is not None:
                    path = f"spec.volumes[{index}].projected.sources[{source}].serviceAccountToken"
                    errors.append(forbidden(path, why))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            errors += image_of_pod(container, f"spec.{field}[{index}]")
    return errors


def pod_annotations(annotations: Mapping[str, str], spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Annotations that mean something to the server."""
    errors = []
    if MIRROR_POD in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR_POD}]", annotations[MIRROR_POD], why))
    cost = annotations.get(DELETION_COST)
    if cost is not None and not (
        _DELETION_COST.fullmatch(cost) and -_MAX_INT32 - 1 <= whole_number(cost) <= _MAX_INT32
    ):
        errors.append(invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    for name in annotations:
        if "seccomp" in name and (name == _SECCOMP_OF_POD or name.startswith(_SECCOMP_OF_CONTAINER)):
            errors += _seccomp_profile(annotations[name], f"{path}.{name}")
    return errors


_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_profile(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return descending_path(profile.removeprefix("localhost/"), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def validate_pod_spec(spec: Json, path: str, *, pod_name: str = "", in_pod: bool = False) -> list[FieldError]:
    """Validate the spec of a pod or of a pod template."""
    grace_period = spec.get("terminationGracePeriodSeconds")
    errors = [] if grace_period is not None else [required(f"{path}.terminationGracePeriodSeconds")]
    good_volumes, volume_errors = volumes(spec.get("volumes") or [], pod_name, f"{path}.volumes", in_pod=in_pod)
    errors += volume_errors
    claims = frozenset(claim.get("name", "") for claim in spec.get("resourceClaims") or []) or _NO_CLAIMS
    errors += _resource_claims(spec.get("resourceClaims") or [], f"{path}.resourceClaims")
    pod = Surroundings(
        volumes=good_volumes,
        claims=claims,
        grace_period=grace_period,
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
        os=(spec.get("os") or {}).get("name", ""),
    )
    regular, init = spec.get("containers") or [], spec.get("initContainers") or []
    errors += regular_containers(regular, pod, f"{path}.containers")
    names = {container.get("name", "") for container in regular}
    if init:
        errors += init_containers(init, names, pod, f"{path}.initContainers")
    if spec.get("ephemeralContainers"):
        names |= {container.get("name", "") for container in init}
        errors += ephemeral_containers(spec["ephemeralContainers"], names, pod, f"{path}.ephemeralContainers")
    if spec.get("resources") is not None:
        errors += _pod_resources(spec, f"{path}.resources")
    errors += _host_network(spec, path, in_pod=in_pod)
    errors += one_of(spec.get("restartPolicy", ""), f"{path}.restartPolicy", ("Always", "OnFailure", "Never"))
    dns_policies = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    errors += one_of(spec.get("dnsPolicy", ""), f"{path}.dnsPolicy", dns_policies)
    errors += labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    errors += pod_security_context(spec.get("securityContext"), spec, f"{path}.securityContext")
    errors += affinity(spec.get("affinity"), f"{path}.affinity")
    errors += _dns_config(spec, f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or []):
        errors += label_name(gate.get("conditionType", ""), f"{path}.readinessGates[{index}].conditionType")
    errors += _scheduling_gates(spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    errors += spread_constraints(spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")
    errors += _host_users(spec, path)
    return errors + _names_and_numbers(spec, path) + _file_key_volumes(spec, path)


def _resource_claims(claims: list[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{path}[{index}]", claim.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.add(name)
        errors += dns_label(name, f"{where}.name") if name else [required(f"{where}.name")]
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
        if len(given) > 1:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(where, claim, why))
        elif not given:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(where, claim, why))
        for field in given:
            errors += bad(f"{where}.{field}", claim[field], dns1123_subdomain(claim[field]))
    return errors


def _pod_resources(spec: Json, path: str) -> list[FieldError]:
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(path, "may not be set for a windows pod")]
    resources = spec["resources"]
    errors = []
    if resources.get("claims"):
        errors.append(forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    return errors + resource_requirements(resources, _NO_CLAIMS, path, pod_resource_name)


def _host_network(spec: Json, path: str, *, in_pod: bool) -> list[FieldError]:
    errors = []
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers") or []):
            for port_index, port in enumerate(container.get("ports") or []):
                host, inside = port.get("hostPort") or 0, port.get("containerPort") or 0
                if (in_pod or host) and host != inside:
                    where = f"{path}.containers[{index}].ports[{port_index}].hostPort"
                    errors.append(invalid(where, host, "must match `containerPort` when `hostNetwork` is true"))
    return errors


def _dns_config(spec: Json, path: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", why)]
    if config is None:
        return []
    errors: list[FieldError] = []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        errors.append(invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += valid_ip(server, f"{path}.nameservers[{index}]")
    if len(searches) > 32:
        errors.append(invalid(f"{path}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, why))
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            errors += bad(f"{path}.searches[{index}]", domain, dns1123_subdomain_with_underscore(domain))
    for index, option in enumerate(config.get("options") or []):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))
    return errors


def _scheduling_gates(gates: list[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += label_name(name, f"{path}[{index}]")
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors


def _host_users(spec: Json, path: str) -> list[FieldError]:
    if spec.get("hostUsers") is not False:
        return []
    fields = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    why = "when `hostUsers` is false"
    return [forbidden(f"{path}.{shown}", why) for field, shown in fields if spec.get(field)]


def _names_and_numbers(spec: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    override = spec.get("hostnameOverride")
    if override is not None:
        where = f"{path}.hostnameOverride"
        if spec.get("setHostnameAsFQDN"):
            errors.append(forbidden(where, "may not be specified when setHostnameAsFQDN is true"))
        if spec.get("hostNetwork"):
            errors.append(forbidden(where, "may not be specified when hostNetwork is true"))
        if len(override) > 64:
            errors.append(too_long(where, 64))
        errors += dns_subdomain(override, where)
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            errors += dns_subdomain(spec[field], f"{path}.{field}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        why = f"must be between 1 and {_MAX_INT32}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, why))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += dns_label(spec[field], f"{path}.{field}")
    errors += tolerations(spec.get("tolerations") or [], f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        errors += valid_ip(alias.get("ip", ""), f"{path}.hostAliases[{index}].ip")
        for host_index, hostname in enumerate(alias.get("hostnames") or []):
            errors += dns_subdomain(hostname, f"{path}.hostAliases[{index}].hostnames[{host_index}]")
    if spec.get("priorityClassName"):
        errors += dns_subdomain(spec["priorityClassName"], f"{path}.priorityClassName")
    if spec.get("runtimeClassName") is not None:
        errors += dns_subdomain(spec["runtimeClassName"], f"{path}.runtimeClassName")
    if spec.get("preemptionPolicy") is not None:
        errors += one_of(spec["preemptionPolicy"], f"{path}.preemptionPolicy", ("PreemptLowerPriority", "Never"))
    if spec.get("overhead"):
        errors += resource_requirements({"limits": spec["overhead"]}, _NO_CLAIMS, f"{path}.overhead")
    os = spec.get("os")
    if os is not None and not os.get("name"):
        errors.append(required(f"{path}.os.name"))
    elif os is not None and os["name"] not in ("linux", "windows"):
        errors.append(not_supported(f"{path}.os", os["name"], ("linux", "windows")))
    return errors


def _file_key_volumes(spec: Json, path: str) -> list[FieldError]:
    errors = []
    sources = {volume.get("name", ""): volume for volume in spec.get("volumes") or []}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or []):
            for env_index, variable in enumerate(container.get("env") or []):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue
                where = f"{path}.{field}[{index}].env[{env_index}].valueFrom.fileKeyRef.volumeName"
                name = reference.get("volumeName", "")
                if name not in sources:
                    errors.append(not_found(where, name))
                elif sources[name].get("emptyDir") is None:
                    errors.append(invalid(where, name, "referenced volume must be of type emptyDir"))
    return errors
