"""Kinds that keep pods running: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.pod_conversion import convert_template
from kontend.kube.builtin.pod_warnings import template_warnings
from kontend.kube.builtin.validation.pods.pod_template import validate_pod_template_object
from kontend.kube.builtin.validation.workloads import controllers, replication
from kontend.kube.field_errors import FieldError
from kontend.kube.golang.strconv import whole_number
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1123_label
from kontend.kube.strategy import Strategy, WithSpecAndStatus, metadata_of, take_over

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


class _WithTemplate(WithSpecAndStatus):
    """A kind with a pod template in its spec."""

    #: The names of its pods begin with its own.
    names_pods: ClassVar[bool] = True

    def convert(self, obj: Json) -> None:
        """Convert the pod template."""
        convert_template((obj.get("spec") or {}).get("template"))

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of what is odd in a new or changed template, and of names that make odd host names."""
        template = (new.get("spec") or {}).get("template")
        return template_warnings(new, old, template, "spec.template", names_pods=self.names_pods)


class Deployments(_WithTemplate):
    """Deployments; annotations count as spec, because they are copied to the replica sets."""

    reset_fields: ClassVar = {**WithSpecAndStatus.reset_fields, "status": (("spec",), ("metadata", "labels"))}

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count a change of the spec or of the annotations."""
        super().prepare_for_update(new, old)
        before = (old.get("metadata") or {}).get("annotations") or {}
        if (metadata_of(new).get("annotations") or {}) != before:
            self.next_generation(new, old)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep the spec and the labels."""
        super().prepare_for_status_update(new, old, now)
        take_over(metadata_of(new), old.get("metadata") or {}, "labels")

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new deployment."""
        return controllers.validate_deployment(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed deployment."""
        return controllers.validate_deployment_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return controllers.validate_deployment_status_update(new, old)


class ReplicaSets(_WithTemplate):
    """Replica sets."""

    zero_status: ClassVar = {"replicas": 0}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new replica set."""
        return replication.validate_replica_set(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed replica set."""
        return replication.validate_replica_set_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return replication.validate_replica_set_status(new.get("status") or {})


class ReplicationControllers(_WithTemplate):
    """Replication controllers, the replica sets of the first days; their pods outlive them by default."""

    zero_status: ClassVar = {"replicas": 0}
    default_deletion = "orphan"
    selectable = ("status.replicas",)

    def unsupported_field_label(self, label: str) -> str:
        """Return the message that refuses any other field selector."""
        return f"field label not supported: {label}"

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        return {**super().field_labels(obj), "status.replicas": str((obj.get("status") or {}).get("replicas", 0))}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new replication controller."""
        return replication.validate_replication_controller(obj)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return replication.validate_replica_set_status(new.get("status") or {})


class StatefulSets(_WithTemplate):
    """Stateful sets."""

    zero_status: ClassVar = {"replicas": 0, "availableReplicas": 0}
    name_rule = staticmethod(dns1123_label)
    names_pods = False

    def convert(self, obj: Json) -> None:
        """Convert the pod template, and set kind and apiVersion of every volume claim template."""
        super().convert(obj)
        for claim in (obj.get("spec") or {}).get("volumeClaimTemplates") or []:
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"

    def prepare_for_create(self, obj: Json) -> None:
        """Drop what is switched off."""
        super().prepare_for_create(obj)
        _drop_max_unavailable(obj)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Drop what is switched off, unless it is there already."""
        if _rolling_update(old).get("maxUnavailable") is None:
            _drop_max_unavailable(new)
        super().prepare_for_update(new, old)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new stateful set."""
        return controllers.validate_stateful_set(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed stateful set."""
        return controllers.validate_stateful_set_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return controllers.validate_stateful_set_status_update(new, old)


def _rolling_update(stateful_set: Mapping[str, Any]) -> Json:
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    return strategy.get("rollingUpdate") or {}


def _drop_max_unavailable(stateful_set: Json) -> None:
    """Updating several pods of a stateful set at once is a feature that servers of this version come without."""
    _rolling_update(stateful_set).pop("maxUnavailable", None)


class DaemonSets(_WithTemplate):
    """Daemon sets; the generation of their template is an annotation, left over from an older API."""

    names_pods = False
    zero_status: ClassVar = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }

    def convert(self, obj: Json) -> None:
        """Convert the pod template and the strategy, and write the annotation that every daemon set has."""
        super().convert(obj)
        rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate")
        if rolling is not None:  # inside, both are numbers, not pointers
            rolling.setdefault("maxUnavailable", 0)
            rolling.setdefault("maxSurge", 0)
        metadata = metadata_of(obj)
        if TEMPLATE_GENERATION not in (metadata.get("annotations") or {}):
            metadata.setdefault("annotations", {})[TEMPLATE_GENERATION] = "0"

    def internal_metadata(self, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metadata without the annotation, which is a field inside."""
        annotations = {**(metadata.get("annotations") or {})}
        annotations.pop(TEMPLATE_GENERATION, None)
        inside = {**metadata, "annotations": annotations}
        if not annotations:
            del inside["annotations"]
        return inside

    def prepare_for_create(self, obj: Json) -> None:
        """Start with the first template."""
        super().prepare_for_create(obj)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count changes of the template."""
        super().prepare_for_update(new, old)
        changed = not same((new.get("spec") or {}).get("template"), (old.get("spec") or {}).get("template"))
        _set_template_generation(new, _template_generation(old) + changed)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep the spec, of which the annotation is a part."""
        super().prepare_for_status_update(new, old, now)
        _set_template_generation(new, _template_generation(old))

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new daemon set."""
        return controllers.validate_daemon_set(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed daemon set."""
        return controllers.validate_daemon_set_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return controllers.validate_daemon_set_status_update(new, old)


def _template_generation(daemon_set: Mapping[str, Any]) -> int:
    annotations = (daemon_set.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(TEMPLATE_GENERATION, "0")
    return whole_number(text) if text.isascii() and text.lstrip("+-").isdecimal() else 0


def _set_template_generation(daemon_set: Json, generation: int) -> None:
    metadata = metadata_of(daemon_set)
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


class ControllerRevisions(Strategy):
    """Snapshots of stateful sets and daemon sets; their data never changes."""

    rechecks_metadata = True
    raw_fields = (("data",),)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new revision."""
        return controllers.validate_controller_revision(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed revision."""
        return controllers.validate_controller_revision_update(new, old)


class PodTemplates(Strategy):
    """Pod templates as objects of their own."""

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of what is odd in a new or changed template."""
        return template_warnings(new, old, new.get("template"), "template")

    returns_deleted_object = True
    generation_fields = ("template",)

    def convert(self, obj: Json) -> None:
        """Convert the pod template."""
        convert_template(obj.get("template"))

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a pod template."""
        return validate_pod_template_object(obj)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("apps", "Deployment"): Deployments(),
    ("apps", "ReplicaSet"): ReplicaSets(),
    ("apps", "StatefulSet"): StatefulSets(),
    ("apps", "DaemonSet"): DaemonSets(),
    ("apps", "ControllerRevision"): ControllerRevisions(),
    ("", "ReplicationController"): ReplicationControllers(),
    ("", "PodTemplate"): PodTemplates(),
}
