"""Pod templates, alone or inside of a workload."""

from __future__ import annotations

from kontend.kube.builtin.validation.checks import labels
from kontend.kube.builtin.validation.pods.pod import pod_annotations, validate_pod_spec
from kontend.kube.field_errors import FieldError, forbidden
from kontend.kube.json_types import Json
from kontend.kube.meta.object_meta import validate_annotations


def validate_pod_template(template: Json, path: str) -> list[FieldError]:
    """Validate a pod template."""
    spec = template.get("spec") or {}
    errors = template_metadata(template, path) + validate_pod_spec(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", why))
    return errors


def template_metadata(template: Json, path: str) -> list[FieldError]:
    """List the errors in the metadata of a pod template."""
    metadata = template.get("metadata") or {}
    errors = labels(metadata.get("labels"), f"{path}.labels")
    annotations = metadata.get("annotations") or {}
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
    return errors + pod_annotations(annotations, template.get("spec") or {}, f"{path}.annotations")


def validate_pod_template_object(obj: Json) -> list[FieldError]:
    """Validate an object of the kind PodTemplate."""
    return validate_pod_template(obj.get("template") or {}, "template")
