"""Pods: what the server sets in them, and their own subresources.

A new pod is pending, knows its quality of service class and carries the priority and the tolerations that admission
gives to everyone. Afterwards almost all of its spec is fixed; containers are resized and ephemeral containers are added
through subresources of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.admission.pods import add_default_tolerations, set_priority, set_runtime_class
from kontend.kube.builtin.pod_conversion import convert_pod_metadata, convert_pod_spec
from kontend.kube.builtin.pod_warnings import name_warnings, pod_warnings
from kontend.kube.builtin.qos import quality_of_service
from kontend.kube.builtin.validation.pods import pod_update
from kontend.kube.builtin.validation.pods.pod import validate_pod
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.strategy import (
    STATUS,
    ListObjects,
    Strategy,
    WithOwnFieldLabels,
    metadata_of,
    nothing_stored,
    reset_metadata_for_status,
    take_over,
)

_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class Pods(WithOwnFieldLabels):
    """Pods."""

    returns_deleted_object = True
    rechecks_metadata = True
    zero_status: ClassVar = {"phase": "Pending"}
    generation_fields = ("spec",)
    reset_fields: ClassVar = {
        "": STATUS,
        "status": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    }
    selectable = (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    )  # fmt: skip
    field_aliases: ClassVar = {"spec.host": "spec.nodeName"}

    def convert(self, obj: Json) -> None:
        """Keep redundant fields in step, and drop obsolete annotations."""
        convert_pod_metadata(metadata_of(obj))
        spec = obj.get("spec") or {}
        convert_pod_spec(spec)
        if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
            spec["terminationGracePeriodSeconds"] = 1
        status = obj.get("status") or {}
        addresses = [address.get("ip", "") for address in status.get("podIPs") or []]
        primary = status.get("podIP", "")
        if primary and addresses[:1] != [primary]:
            status["podIPs"] = [{"ip": primary}]
        elif addresses and addresses[0]:
            status["podIP"] = addresses[0]

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Give the pod a priority and the tolerations of unready nodes."""
        set_priority(obj, list_objects)
        add_default_tolerations(obj["spec"])
        set_runtime_class(obj, list_objects)

    def admit_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep the priority when the writer left it out."""
        spec, old_spec = new["spec"], old.get("spec") or {}
        for field in ("priority", "preemptionPolicy"):
            if spec.get(field) is None and old_spec.get(field) is not None:
                spec[field] = old_spec[field]
        add_default_tolerations(spec)

    def prepare_for_create(self, obj: Json) -> None:
        """Start pending, in generation 1."""
        super().prepare_for_create(obj)
        spec = obj["spec"]
        obj["status"]["qosClass"] = quality_of_service(spec)
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [{**_GATED, "lastTransitionTime": metadata_of(obj).get("creationTimestamp")}]
        _merge_label_keys(spec, metadata_of(obj).get("labels") or {})

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:  # noqa: ARG002
        """Keep all but the status, and what careless writers of the status leave out of it."""
        take_over(new, old, "spec")
        metadata = metadata_of(new)
        metadata.pop("deletionTimestamp", None)
        take_over(metadata, old.get("metadata") or {}, "ownerReferences")
        status, old_status = new.setdefault("status", {}), old.get("status") or {}
        if not status.get("qosClass"):
            take_over(status, old_status, "qosClass")
        _keep_observed_generations(status, old_status)

    def prepare(self, subresource: str, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Lets each subresource change only its own part."""
        if subresource == "ephemeralcontainers":
            wanted = (new.get("spec") or {}).get("ephemeralContainers")
            self._keep_all_but_spec(new, old)
            if wanted:
                new["spec"]["ephemeralContainers"] = wanted
            else:
                new["spec"].pop("ephemeralContainers", None)
        elif subresource == "resize":
            self._prepare_for_resize(new, old)
        else:
            super().prepare(subresource, new, old, now)
            return
        if not same(new["spec"], old["spec"]):
            self.next_generation(new, old)

    def _keep_all_but_spec(self, new: Json, old: Mapping[str, Any]) -> None:
        new["spec"] = dict(old["spec"])
        take_over(new, old, "status")
        reset_metadata_for_status(new, old)

    def _prepare_for_resize(self, new: Json, old: Mapping[str, Any]) -> None:
        wanted = {field: (new.get("spec") or {}).get(field) or [] for field in ("containers", "initContainers")}
        if any(len(wanted[field]) != len(old["spec"].get(field) or []) for field in wanted):
            return  # validation says what is wrong with that
        self._keep_all_but_spec(new, old)
        for field, containers in wanted.items():
            if containers:
                new["spec"][field] = _with_resources(old["spec"][field], containers)

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of what is odd in a new pod."""
        if old is not None:
            return []
        return name_warnings(metadata_of(new).get("name", ""), of_pod=True) + pod_warnings(new)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new pod."""
        return validate_pod(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a change of a pod: nearly everything is fixed."""
        return pod_update.validate_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a change of a pod's status."""
        return pod_update.validate_status_update(new, old)

    def validate_changes(self, subresource: str, new: Json, old: Json) -> list[FieldError]:
        """Validate a change through the main resource or a subresource."""
        if subresource == "ephemeralcontainers":
            return pod_update.validate_ephemeral_containers_update(new, old)
        if subresource == "resize":
            return pod_update.validate_resize(new, old)
        return super().validate_changes(subresource, new, old)

    def grace_period(self, obj: Mapping[str, Any], requested: int | None) -> int | None:
        """For how long the kubelet may shut the containers down; a pod that no node runs goes at once."""
        spec = obj.get("spec") or {}
        period = spec.get("terminationGracePeriodSeconds") or 0 if requested is None else requested
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        return 1 if period < 0 else period

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        addresses = status.get("podIPs") or [{}]
        return {
            **super().field_labels(obj),
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": addresses[0].get("ip", ""),
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }


def _with_resources(old: list[Json], new: list[Json]) -> list[Json]:
    """Return the old containers with the new ones' resources; the new ones as they are if they are not the same
    containers."""
    if [before.get("name") for before in old] != [after.get("name") for after in new]:
        return new
    merged = []
    for before, after in zip(old, new, strict=True):
        container = dict(before)
        take_over(container, after, "resources", "resizePolicy")
        merged.append(container)
    return merged


def _keep_observed_generations(status: Json, old_status: Mapping[str, Any]) -> None:
    if not status.get("observedGeneration"):
        take_over(status, old_status, "observedGeneration")
    known: dict[str, list[int]] = {}
    for condition in old_status.get("conditions") or []:
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or []:
        earlier = known.get(condition.get("type", ""))
        generation = earlier.pop(0) if earlier else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def _merge_label_keys(spec: Json, labels: Mapping[str, str]) -> None:
    """Write the pod's own labels into selectors that ask for "the same label" or "another label" than this pod has."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            _merge_keys_of(weighted.get("podAffinityTerm") or {}, labels)
        for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            _merge_keys_of(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or []:
        _merge_keys_of(constraint, labels)


def _merge_keys_of(term: Json, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or []:
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector["matchExpressions"] = [*(selector.get("matchExpressions") or []), requirement]


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {("", "Pod"): Pods()}
