"""Validation of updates of a pod: the fields that may change, by subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import difference, shown_as
from kontend.kube.builtin.qos import quality_of_service
from kontend.kube.builtin.validation.checks import dns_subdomain, immutable, label_name, parse_ip, valid_ip
from kontend.kube.builtin.validation.pods.pod import MIRROR_POD, pod_annotations, validate_pod_metadata_and_spec
from kontend.kube.builtin.validation.pods.scheduling import tolerations
from kontend.kube.field_errors import FieldError, Verbatim, forbidden, go_json, go_quote, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same

_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAX_INT32: Final = 2147483647
#: A path that consists of one empty name.
_NOWHERE: Final = "[]"


def validate_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a change through the main resource."""
    errors = validate_pod_metadata_and_spec(new)
    errors += _annotations(new, old)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for field in ("containers", "initContainers"):
        image_errors, comparable = _images(spec.get(field) or [], before.get(field) or [], f"spec.{field}")
        errors += image_errors
        if not comparable:
            return errors
    deadline, old_deadline = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is not None:
        if not 0 <= deadline <= _MAX_INT32:
            why = f"must be between 0 and {_MAX_INT32}, inclusive"
            return [*errors, invalid("spec.activeDeadlineSeconds", deadline, why)]
        if old_deadline is not None and old_deadline < deadline:
            why = "must be less than or equal to previous value"
            return [*errors, invalid("spec.activeDeadlineSeconds", deadline, why)]
    elif old_deadline is not None:
        why = "must not update from a positive integer to nil value"
        errors.append(invalid("spec.activeDeadlineSeconds", None, why))
    errors += _only_added_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    errors += _only_deleted_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if same(spec, before):
        return errors
    munged = _without_updatable(spec, before)
    if before.get("schedulingGates"):
        errors += _undo_scheduling_of_gated(munged, before)
    if not same(munged, before):
        what = difference("PodSpec", before, munged)
        errors.append(forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{what}"))
    return errors


def _images(new: list[Json], old: list[Json], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], False
    errors = []
    for index, container in enumerate(new):
        image = container.get("image", "")
        if not image:
            errors.append(required(f"{path}[{index}].image"))
        if image != image.strip():
            errors.append(invalid(f"{path}[{index}].image", image, "must not have leading or trailing whitespace"))
    return errors, True


def _annotations(new: Json, old: Json) -> list[FieldError]:
    annotations = (new.get("metadata") or {}).get("annotations") or {}
    before = (old.get("metadata") or {}).get("annotations") or {}
    errors = []
    path = f"metadata.annotations[{MIRROR_POD}]"
    if MIRROR_POD in before and annotations.get(MIRROR_POD) != before[MIRROR_POD]:
        errors.append(forbidden(path, "may not remove or update mirror pod annotation"))
    if MIRROR_POD in annotations and MIRROR_POD not in before:
        errors.append(forbidden(path, "may not add mirror pod annotation"))
    return errors + pod_annotations(annotations, new.get("spec") or {}, "metadata.annotations")


def _only_added_tolerations(new: list[Json], old: list[Json]) -> list[FieldError]:
    def fixed(toleration: Json) -> Json:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value}

    kept = [fixed(toleration) for toleration in new]
    if any(fixed(toleration) not in kept for toleration in old):
        why = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", why)]
    return tolerations(new, "spec.tolerations")


def _only_deleted_gates(new: list[Json], old: list[Json]) -> list[FieldError]:
    known = {gate.get("name", "") for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name", "") not in known
    ]


def _without_updatable(spec: Json, old: Mapping[str, Any]) -> Json:
    """Return the new spec with the old values of all that may change."""
    munged = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            pairs = zip(spec[field], old[field], strict=True)
            munged[field] = [{**container, "image": before.get("image", "")} for container, before in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        if field in old:
            munged[field] = old[field]
        else:
            munged.pop(field, None)
    period = old.get("terminationGracePeriodSeconds")
    if period is not None and period < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = period
    return munged


def _undo_scheduling_of_gated(munged: Json, old: Mapping[str, Any]) -> list[FieldError]:
    """Return a pod that is not scheduled yet may be bound to fewer nodes."""
    errors = []
    selector, before = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", selector or None, why))
    munged.pop("nodeSelector", None)
    if before:
        munged["nodeSelector"] = before
    affinity, old_affinity = munged.get("affinity") or {}, old.get("affinity") or {}
    nodes, old_nodes = affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if not same(nodes, old_nodes):
        errors += _node_affinity(nodes or {}, old_nodes or {})
        restored = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        if old_nodes is not None:
            restored["nodeAffinity"] = old_nodes
        munged.pop("affinity", None)
        if restored or "affinity" in old:
            munged["affinity"] = restored
    return errors


def _node_affinity(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    required_now = "requiredDuringSchedulingIgnoredDuringExecution"
    old_terms = (old.get(required_now) or {}).get("nodeSelectorTerms") or []
    terms = (new.get(required_now) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{required_now}.nodeSelectorTerms"
    if old_terms and len(old_terms) != len(terms):
        shown = ",".join(str(shown_as("NodeSelectorTerm", term)) for term in terms)
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, Verbatim(f"[{shown}]" if terms else "null"), why)]
    errors = []
    for index, (term, before) in enumerate(zip(terms, old_terms, strict=False)):
        only_added = all(
            all(container in (term.get(field) or []) for container in before.get(field) or [])
            for field in ("matchExpressions", "matchFields")
        )
        if not only_added or not before:
            why = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{path}[{index}]", shown_as("NodeSelectorTerm", term), why))
    return errors


def validate_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a change of the status."""
    errors = _annotations(new, old)
    spec, before_spec = new.get("spec") or {}, old.get("spec") or {}
    status, before = new.get("status") or {}, old.get("status") or {}
    for index, condition in enumerate(status.get("conditions") or []):
        where = f"status.conditions[{index}]"
        if (condition.get("observedGeneration") or 0) < 0:
            generation = condition["observedGeneration"]
            errors.append(invalid(f"{where}.observedGeneration", generation, "must be a non-negative integer"))
        if condition.get("type") not in ("PodScheduled", "Ready", "Initialized"):
            errors += label_name(condition.get("type", ""), f"{where}.Type")
    if spec.get("nodeName") != before_spec.get("nodeName"):
        errors.append(forbidden("status.nodeName", "may not be changed directly"))
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName", ""):
        errors += dns_subdomain(nominated, "status.nominatedNodeName")
        if before_spec.get("nodeName"):
            why = "may not be set on pods that are already bound to a node"
            errors.append(forbidden("status.nominatedNodeName", why))
    if (status.get("observedGeneration") or 0) < 0:
        why = "must be a non-negative integer"
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], why))
    errors += immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        errors += _state_transitions(status.get(field) or [], before.get(field) or [], before_spec, containers, field)
    host_ips = status.get("hostIPs") or []
    errors += _addresses(status.get("podIPs") or [], before.get("podIPs") or [], "status.podIPs")
    if host_ips and host_ips[0].get("ip", "") != status.get("hostIP", ""):
        errors.append(invalid("status.hostIPs[0].ip", host_ips[0].get("ip", ""), "must be equal to `hostIP`"))
    return errors + _addresses(host_ips, before.get("hostIPs") or [], "status.hostIPs")


def _state_transitions(
    new: list[Json], old: list[Json], spec: Mapping[str, Any], containers: str, field: str
) -> list[FieldError]:
    errors = []
    after = {status.get("name", ""): status for status in new}
    for index, status in enumerate(old):
        terminated = (status.get("state") or {}).get("terminated")
        now = after.get(status.get("name", ""))
        if terminated is None or now is None or (now.get("state") or {}).get("terminated") is not None:
            continue
        container = next((c for c in spec.get(containers) or [] if c.get("name") == status.get("name")), None)
        if container is None or not _may_restart(container, spec, terminated.get("exitCode") or 0):
            path = f"status.{field}[{index}].state"
            errors.append(forbidden(path, "may not be transitioned to non-terminated state"))
    return errors


def _may_restart(container: Json, spec: Mapping[str, Any], exit_code: int) -> bool:
    for rule in container.get("restartPolicyRules") or []:
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or [])
        if listed == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _addresses(new: list[Json], old: list[Json], path: str) -> list[FieldError]:
    known = {address.get("ip", "") for address in old}
    errors: list[FieldError] = []
    for index, address in enumerate(new):
        if address.get("ip", "") not in known:
            errors += valid_ip(address.get("ip", ""), f"{path}[{index}]")
    if len(new) > 1:
        parsed = [parse_ip(address.get("ip", "")) for address in new]
        if len(new) > 2 or len({address.version for address in parsed if address is not None}) < 2:
            shown = Verbatim(go_json([{"IP": address.get("ip", "")} for address in new]))
            errors.append(invalid(path, shown, "may specify no more than one IP for each IP family"))
    return errors


def validate_ephemeral_containers_update(new: Json, old: Json) -> list[FieldError]:
    """Ephemeral containers may be added, and nothing else."""
    errors = validate_pod_metadata_and_spec(new) + _annotations(new, old)
    if MIRROR_POD in ((old.get("metadata") or {}).get("annotations") or {}):
        return [forbidden(_NOWHERE, "static pods do not support ephemeral containers")]
    after = {
        ephemeral.get("name", ""): ephemeral for ephemeral in (new.get("spec") or {}).get("ephemeralContainers") or []
    }
    path = "spec.ephemeralContainers"
    for container in (old.get("spec") or {}).get("ephemeralContainers") or []:
        name = container.get("name", "")
        if name not in after:
            errors.append(forbidden(path, f"existing ephemeral containers {go_quote(name)} may not be removed\n"))
        elif after[name] != container:
            what = difference("EphemeralContainer", container, after[name])
            errors.append(forbidden(path, f"existing ephemeral containers {go_quote(name)} may not be changed\n{what}"))
    return errors


def validate_resize(new: Json, old: Json) -> list[FieldError]:
    """Only the cpu and memory of containers may change."""
    errors = validate_pod_metadata_and_spec(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if MIRROR_POD in ((old.get("metadata") or {}).get("annotations") or {}):
        return [forbidden(_NOWHERE, "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden(_NOWHERE, "windows pods cannot be resized")]
    quality = (old.get("status") or {}).get("qosClass") or quality_of_service(before)
    if quality != quality_of_service(spec):
        shown = (new.get("status") or {}).get("qosClass", "")
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    if any((version.get("resources") or {}).get(kind) for version in (spec, before) for kind in ("requests", "limits")):
        why = (
            "resize of pods with pod-level resources is forbidden when "
            "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
        )
        return [*errors, forbidden(_NOWHERE, why)]
    container_errors = [
        error
        for field in ("containers", "initContainers")
        for error in _same_containers(spec.get(field) or [], before.get(field) or [], field)
    ]
    if container_errors:
        return errors + container_errors
    for field in ("initContainers", "containers"):
        for index, container in enumerate(before.get(field) or []):
            if field == "containers" or container.get("restartPolicy") == "Always":
                path = f"spec.{field}[{index}].resources"
                errors += _removed_resources(spec[field][index], container, path)
    for field in ("containers", "initContainers"):
        for container, old_container in zip(spec.get(field) or [], before.get(field) or [], strict=True):
            errors += _only_resized(container, old_container, regular=field == "containers")
    return errors


def _same_containers(new: list[Json], old: list[Json], field: str) -> list[FieldError]:
    if len(new) != len(old):
        return [forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")]
    why = f"{field} may not be renamed or reordered on resize"
    return [
        forbidden(f"spec.{field}[{index}].name", why)
        for index, (container, before) in enumerate(zip(new, old, strict=True))
        if container.get("name") != before.get("name")
    ]


def _removed_resources(new: Json, old: Json, path: str) -> list[FieldError]:
    errors = []
    for kind in ("requests", "limits"):
        after = (new.get("resources") or {}).get(kind) or {}
        if any(name not in after for name in (old.get("resources") or {}).get(kind) or {}):
            errors.append(forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed"))
    return errors


def _only_resized(new: Json, old: Json, *, regular: bool) -> list[FieldError]:
    resizable = regular or new.get("restartPolicy") == "Always"
    if (_without_cpu_and_memory(new) if resizable else new) == (_without_cpu_and_memory(old) if resizable else old):
        return []
    if regular:
        return [forbidden("spec", "only cpu and memory resources are mutable")]
    if resizable:
        return [forbidden("spec", "only cpu and memory resources for sidecar containers are mutable")]
    return [forbidden("spec", "resources for non-sidecar init containers are immutable")]


def _without_cpu_and_memory(container: Json) -> Json:
    resources = {
        kind: {name: value for name, value in (amounts or {}).items() if name not in ("cpu", "memory")}
        for kind, amounts in (container.get("resources") or {}).items()
        if kind in ("requests", "limits")
    }
    return {**container, "resources": {kind: amounts for kind, amounts in resources.items() if amounts}}
