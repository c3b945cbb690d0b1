"""The ``scale`` subresource: one view on everything that has replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.field_errors import FieldError, invalid
from kontend.kube.json_types import Json

#: The path of the number of replicas, for the managed fields of the two views.
REPLICAS_PATH: Final = ("spec", "replicas")
_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Mapping[str, Any]) -> Json:
    """Return the ``Scale`` of a Deployment, ReplicaSet, StatefulSet or ReplicationController.

    >>> scale_of({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}}})["status"]
    {'replicas': 0, 'selector': 'app=d'}
    """
    metadata, spec, status = obj.get("metadata") or {}, obj.get("spec") or {}, obj.get("status") or {}
    replicas = spec.get("replicas")
    scale_status: Json = {"replicas": status.get("replicas") or 0}
    selector = selector_text(spec.get("selector"))
    if selector:
        scale_status["selector"] = selector
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {key: metadata[key] for key in _KEPT if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": scale_status,
    }


def set_scale(obj: Json, scale: Mapping[str, Any]) -> None:
    """Give the object the replicas of the scale, and its resourceVersion for the usual check."""
    obj.setdefault("spec", {})["replicas"] = (scale.get("spec") or {}).get("replicas") or 0
    metadata = obj.setdefault("metadata", {})
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        metadata["resourceVersion"] = version
    else:
        metadata.pop("resourceVersion", None)


def validate_scale(scale: Mapping[str, Any]) -> list[FieldError]:
    """Validate a scale, apart from its metadata."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    return [invalid("spec.replicas", replicas, "must be greater than or equal to 0")] if replicas < 0 else []


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """Return a label selector in the syntax of query parameters, requirements sorted by key.

    >>> expression = {"key": "a", "operator": "In", "values": ["y", "x"]}
    >>> selector_text({"matchLabels": {"b": "1"}, "matchExpressions": [expression]})
    'a in (x,y),b=1'
    """
    if not selector:
        return ""
    plain = not ("matchLabels" in selector or "matchExpressions" in selector)
    labels: Mapping[str, str] = selector if plain else selector.get("matchLabels") or {}
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    for expression in [] if plain else selector.get("matchExpressions") or []:
        key, operator = expression.get("key", ""), expression.get("operator", "")
        values = "(" + ",".join(sorted(expression.get("values") or [])) + ")"
        text = {
            "In": f"{key} in {values}",
            "NotIn": f"{key} notin {values}",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(operator, "")
        terms.append((key, text))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))
