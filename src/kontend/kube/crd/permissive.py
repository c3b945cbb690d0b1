"""CustomResourceDefinitions that accept every object of a kind, for tests and models."""

from __future__ import annotations

from typing import Any

from kontend.kube.meta.names import parse_kind


def is_definable(kind: str) -> bool:
    """Return True where a definition can add the kind: those of the built-in groups are fixed.

    >>> is_definable("Widget.example.com/v1"), is_definable("Widget/v1"), is_definable("Widget.apps/v1")
    (True, False, False)
    """
    return "." in parse_kind(kind).group


def permissive_crd(kind: str, *, plural: str = "", status: bool = True, namespaced: bool = True) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind whose objects may have any fields.

    ``status=False`` leaves out the status subresource, so that the status is written with the rest of the object.

    >>> permissive_crd("Widget.example.com/v1")["metadata"]["name"]
    'widgets.example.com'
    >>> permissive_crd("Proxy.example.com/v1", plural="proxies")["spec"]["names"]
    {'plural': 'proxies', 'kind': 'Proxy'}
    """
    parsed = parse_kind(kind)
    plural = plural or f"{parsed.kind.lower()}s"
    version = {
        "name": parsed.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        **({"subresources": {"status": {}}} if status else {}),
    }
    metadata: dict[str, Any] = {"name": f"{plural}.{parsed.group}"}
    if f".{parsed.group}".endswith((".k8s.io", ".kubernetes.io")):  # the server asks for it in the project's own groups
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": parsed.group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "kind": parsed.kind},
            "versions": [version],
        },
    }
