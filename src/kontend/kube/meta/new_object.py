"""Construction of objects from their kind and name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kontend.kube.meta.named import Named, as_key
from kontend.kube.meta.names import parse_kind


def new_object(
    kind: str,
    name: Named = "",
    *,
    generate_name: str = "",
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: Sequence[str] = (),
    **fields: Any,
) -> dict[str, Any]:
    """Return an object of a kind that is not stored yet; ``fields`` are its top-level fields.

    ``name`` may have the namespace, as a request or ``"default/web"`` does. With ``generate_name`` the server completes
    the name.

    >>> settings = new_object("ConfigMap/v1", "settings", labels={"app": "web"}, data={"size": "3"})
    >>> settings["metadata"], settings["data"]
    ({'name': 'settings', 'labels': {'app': 'web'}}, {'size': '3'})
    >>> new_object("Pod/v1", generate_name="web-")["metadata"]
    {'generateName': 'web-'}
    """
    parsed = parse_kind(kind)
    if name:
        key = as_key(name)
        namespace, name = key.namespace or namespace, key.name
    given = {
        "name": name,
        "generateName": generate_name,
        "namespace": namespace,
        "labels": labels,
        "annotations": annotations,
        "finalizers": finalizers,
    }
    metadata = {field: _own(value) for field, value in given.items() if value}
    return {"apiVersion": parsed.api_version, "kind": parsed.kind, "metadata": metadata, **fields}


def _own(value: Any) -> Any:
    """Return a copy, so that the objects of two calls share nothing."""
    if isinstance(value, Mapping):
        return dict(value)
    return value if isinstance(value, str) else list(value)
