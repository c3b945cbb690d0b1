"""Custom resources of a repository that declare the status subresource: from CRD manifests and from Go markers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from kontend.audit.site import resource_key

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARKED = re.compile(rb"^//\s*\+kubebuilder:subresource:status\s*$", re.MULTILINE)
_TYPE = re.compile(rb"^type\s+(\w+)\s+struct\b", re.MULTILINE)
_NAMES = re.compile(rb"^\s+(?:kind|plural|singular):\s*[\"']?(\w+)", re.MULTILINE)
_BUILT_IN = (
    *("pod", "node", "namespace", "service", "persistentvolume", "persistentvolumeclaim", "replicationcontroller"),
    *("deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "horizontalpodautoscaler", "ingress"),
    *("poddisruptionbudget", "resourcequota", "certificatesigningrequest", "customresourcedefinition", "apiservice"),
)


def status_subresources(manifests: Mapping[str, bytes], go: Mapping[str, bytes], asked: set[str]) -> dict[str, bool]:
    """Return whether every version of a resource has the status subresource, for those asked about.

    A resource that neither a manifest nor a marker mentions is not in the answer. Manifests are large and parsing them
    is slow, so only those that mention such a resource are parsed; one that does not parse says nothing.
    """
    subresources = {name: True for name in _BUILT_IN if name in asked}
    for content in manifests.values() if asked else ():
        if asked.isdisjoint(resource_key(name.decode()) for name in set(_NAMES.findall(content))):
            continue
        try:
            documents = list(yaml.load_all(content.decode("utf-8", "replace"), _LOADER))
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        for document in documents:
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                _definition(document.get("spec"), subresources)
    for source in go.values() if asked else ():
        for marker in _MARKED.finditer(source):
            declared = _TYPE.search(source, marker.end())
            name = resource_key(declared.group(1).decode()) if declared is not None else ""
            if name in asked:
                subresources.setdefault(name, True)
    return subresources


def _definition(spec: Any, subresources: dict[str, bool]) -> None:
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    versions = [version for version in spec.get("versions") or [] if isinstance(version, dict)]
    has = [
        isinstance(version.get("subresources"), dict) and "status" in version["subresources"] for version in versions
    ]
    if isinstance(names, dict) and has:
        for name in (names.get("kind"), names.get("plural"), names.get("singular")):
            if isinstance(name, str):
                subresources[resource_key(name)] = all(has)
