"""CustomResourceDefinitions for tests that need some kind, whatever is in it."""

from __future__ import annotations

from typing import Any


def definition(kind: str = "Widget", *, group: str = "example.com", **version: Any) -> dict[str, Any]:
    """A namespaced kind with a status, version v1, that takes any fields; ``version`` replaces parts of it."""
    plural = f"{kind.lower()}s"
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        **version,
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


def with_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Widgets without a status, whose spec has this schema."""
    return definition(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}, subresources={})
