"""Conversion of pods and pod templates through the server's internal form.

Two fields name the service account, and the server keeps them equal; annotations that held init containers ten years
ago are dropped.
"""

from __future__ import annotations

from typing import Final

from kontend.kube.json_types import Json

_INIT_CONTAINER_ANNOTATIONS: Final = tuple(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("beta", "alpha") for what in ("s", "-statuses")
)


def convert_pod_spec(spec: Json) -> None:
    """Make ``serviceAccount`` an echo of ``serviceAccountName``."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name
    else:
        spec.pop("serviceAccountName", None)
        spec.pop("serviceAccount", None)


def convert_pod_metadata(metadata: Json) -> None:
    """Drop the annotations that once held init containers."""
    annotations = metadata.get("annotations")
    if annotations:
        for key in _INIT_CONTAINER_ANNOTATIONS:
            annotations.pop(key, None)
        if not annotations:
            del metadata["annotations"]


def convert_template(template: Json | None) -> None:
    """Both, for a pod template."""
    if template:
        convert_pod_metadata(template.get("metadata") or {})
        convert_pod_spec(template.get("spec") or {})
