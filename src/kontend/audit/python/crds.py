"""Which custom resources of a repository declare the status subresource, read from its CRD manifests."""

from __future__ import annotations

from typing import Any

import yaml

from kontend.audit.writers import resource_key


def status_subresources(manifests: dict[str, bytes]) -> dict[str, bool]:
    """Return, by resource, whether every served version has the status subresource. Manifests that do not parse say nothing."""
    found: dict[str, bool] = {}
    for content in manifests.values():
        try:
            documents = list(yaml.safe_load_all(content.decode("utf-8", "replace")))
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        for document in documents:
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                _definition(document.get("spec"), found)
    return found


def _definition(spec: Any, found: dict[str, bool]) -> None:
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    versions = [each for each in spec.get("versions") or [] if isinstance(each, dict)]
    has = [isinstance(each.get("subresources"), dict) and "status" in each["subresources"] for each in versions]
    if isinstance(names, dict) and has:
        for name in (names.get("kind"), names.get("plural"), names.get("singular")):
            if isinstance(name, str):
                found[resource_key(name)] = all(has)
