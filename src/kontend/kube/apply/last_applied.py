"""The annotation of client-side apply, and how apply by the server takes over from it.

``kubectl apply`` used to record what it applied in an annotation, and owned those fields as an update. When the manager
``kubectl`` applies such an object through the server, a conflict over a field that is still as the annotation says is
no conflict: it was kubectl's own. Afterwards the server keeps the annotation up to date, as long as there is one.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kontend.kube.apply.comparison import compare
from kontend.kube.apply.field_set import Tree, difference
from kontend.kube.apply.field_type import FieldType, NoElement
from kontend.kube.apply.typed_value import Violations, applied_fields, validate
from kontend.kube.field_errors import go_json

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: The one manager that this is done for.
KUBECTL: Final = "kubectl"
_ANNOTATIONS_LIMIT: Final = 256 * 1024


def own_fields(kind: FieldType, live: dict[str, Any], api_version: str) -> Tree | None:
    """Return the fields that the annotation names and that are still as it says; nothing if it cannot be used."""
    text = _annotations(live).get(ANNOTATION)
    if not isinstance(text, str) or not text:
        return None
    try:
        applied = orjson.loads(text)
        if not isinstance(applied, dict) or not applied.get("kind") or applied.get("apiVersion") != api_version:
            return None
        validate(kind, live)
        validate(kind, applied)
        changed = compare(kind, applied, live).changed
    except (orjson.JSONDecodeError, Violations, NoElement, RecursionError):
        return None
    return difference(applied_fields(kind, applied), changed)


def with_annotation(obj: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """``obj`` with the annotation brought up to date with ``patch``; unchanged if it has none."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    wanted = _annotations(patch)
    if wanted:
        rest = {name: value for name, value in wanted.items() if name != ANNOTATION}
        patch = {**patch, "metadata": {**patch["metadata"], "annotations": rest}}
    annotations = {**annotations, ANNOTATION: go_json(patch) + "\n"}
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        del annotations[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
