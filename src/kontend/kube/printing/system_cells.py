"""The cells of kinds that configure the server, its storage and its devices."""

from __future__ import annotations

from typing import Any

from kontend.kube.json_types import JsonView
from kontend.kube.printing.ages import human_duration
from kontend.kube.printing.shared_cells import (
    NONE,
    UNSET,
    age_of,
    containers_of,
    labels_text,
    meta_of,
    name_of,
    spec_of,
    status_of,
)


def pod_template_cells(obj: JsonView, now: str) -> list[Any]:  # noqa: ARG001 - all cells have this signature
    """Return the cells of a PodTemplate, which has no age."""
    template = obj.get("template") or {}
    return [name_of(obj), *containers_of(template), labels_text(meta_of(template).get("labels"))]


def signing_request_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a CertificateSigningRequest."""
    spec, status = spec_of(obj), status_of(obj)
    seconds = spec.get("expirationSeconds")
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    state = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    state += ",Failed" if "Failed" in kinds else ""
    state += ",Issued" if status.get("certificate") else ""
    return [
        name_of(obj),
        age_of(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        state,
    ]


def csi_driver_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a CSIDriver."""
    spec = spec_of(obj)
    requests = spec.get("tokenRequests")
    audiences = UNSET if not requests else ",".join(request.get("audience", "") for request in requests)
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        audiences,
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(obj, now),
    ]


def volume_attachment_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a VolumeAttachment."""
    spec = spec_of(obj)
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool(status_of(obj).get("attached"))
    return [name_of(obj), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age_of(obj, now)]


def policy_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ValidatingAdmissionPolicy."""
    spec = spec_of(obj)
    kind = spec.get("paramKind")
    shown = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [name_of(obj), len(spec.get("validations") or ()), shown, age_of(obj, now)]


def policy_binding_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ValidatingAdmissionPolicyBinding."""
    spec = spec_of(obj)
    reference = spec.get("paramRef") or {}
    shown = UNSET
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = _go_selector(reference["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age_of(obj, now)]


def _go_selector(selector: JsonView) -> str:
    """Return a label selector as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{expression.get('key', '')},Operator:{expression.get('operator', '')},"
        f"Values:[{' '.join(expression.get('values') or ())}],}},"
        for expression in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def flow_schema_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a FlowSchema."""
    spec = spec_of(obj)
    method = spec.get("distinguisherMethod")
    conditions = status_of(obj).get("conditions") or ()
    dangling = next(
        (condition.get("status", "") for condition in conditions if condition.get("type") == "Dangling"), "?"
    )
    return [
        name_of(obj),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""),
        age_of(obj, now),
        dangling,
    ]


def priority_level_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a PriorityLevelConfiguration."""
    spec = spec_of(obj)
    limited = spec.get("limited")
    queuing = ((limited or {}).get("limitResponse") or {}).get("queuing")
    shares = NONE if limited is None else limited.get("nominalConcurrencyShares", 0)
    queues = [
        NONE if queuing is None else queuing.get(field, 0) for field in ("queues", "handSize", "queueLengthLimit")
    ]
    return [name_of(obj), spec.get("type", ""), shares, *queues, age_of(obj, now)]


def resource_claim_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ResourceClaim."""
    status, deleted = status_of(obj), bool(meta_of(obj).get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    elif not deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age_of(obj, now)]


def resource_slice_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ResourceSlice."""
    spec = spec_of(obj)
    pool = (spec.get("pool") or {}).get("name", "")
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool, age_of(obj, now)]


def ip_address_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of an IPAddress."""
    parent = spec_of(obj).get("parentRef")
    shown = NONE
    if parent is not None:
        group = f".{parent['group']}" if parent.get("group") else ""
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        shown = f"{(parent.get('resource', '') + group).lower()}{namespace}/{parent.get('name', '')}"
    return [name_of(obj), shown, age_of(obj, now)]


def api_service_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of an APIService."""
    service = spec_of(obj).get("service")
    shown = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    available = "Unknown"
    for condition in status_of(obj).get("conditions") or ():
        if condition.get("type") == "Available":
            available, reason = condition.get("status", ""), condition.get("reason")
            if available != "True" and reason:
                available = f"{available} ({reason})"
            break
    return [name_of(obj), shown, available, age_of(obj, now)]


def component_status_cells(obj: JsonView, now: str) -> list[Any]:  # noqa: ARG001 - all cells have this signature
    """Return the cells of a ComponentStatus."""
    for condition in obj.get("conditions") or ():
        if condition.get("type") == "Healthy":
            state = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return [name_of(obj), state, condition.get("message", ""), condition.get("error", "")]
    return [name_of(obj), "Unknown", "", ""]
