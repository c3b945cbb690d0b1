"""Discovery: which groups, versions and resources there are, in the old form and the aggregated one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kontend.cluster.request import ApiRequest, not_allowed
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.wire.accept import parse_accept
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import NotFound
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.names import api_version

VERSION = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.0+kontend",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}


def respond(registry: Registry, request: ApiRequest) -> ApiResponse | None:
    """Return the answer to a discovery request, or None when the path is not one."""
    path = request.path
    if path.count("/") > 3 and not path.endswith("/"):
        return None
    path = path.rstrip("/")
    if path.count("/") > 3:
        return None
    response = _respond(registry, request, path)
    if response is not None and request.method != "GET" and _is_routed_by_method(registry, path):
        return ApiResponse.of_error(not_allowed())
    return response


def _is_routed_by_method(registry: Registry, path: str) -> bool:
    """Report whether a page is only there for GET; the others, those of groups among them, answer any method."""
    if path in ("/version", "/api") or path.startswith("/api/"):
        return True
    _, _, group_version = path.partition("/apis/")
    builtin = (resource for resource in registry.resources() if resource.custom is None)
    return "/" in group_version and any(resource.api_version == group_version for resource in builtin)


def _respond(registry: Registry, request: ApiRequest, path: str) -> ApiResponse | None:
    aggregated = any(media.parameters.get("as") == "APIGroupDiscoveryList" for media in parse_accept(request.accept))
    parts = path.split("/")[1:]
    if path == "/version":
        return ApiResponse(200, dict(VERSION))
    if path in ("/healthz", "/livez", "/readyz"):
        return ApiResponse(200, "ok")
    if path == "/api":
        return _aggregated(registry, core=True) if aggregated else ApiResponse(200, _core_versions())
    if path == "/apis":
        return _aggregated(registry, core=False) if aggregated else ApiResponse(200, _group_list(registry))
    if len(parts) == 2 and parts[0] == "apis":
        group = _group(registry, parts[1])
        return None if group is None else ApiResponse(200, group)
    if len(parts) == 2 and parts[0] == "api":
        return _resource_list(registry, "", parts[1])
    if len(parts) == 3 and parts[0] == "apis":
        return _resource_list(registry, parts[1], parts[2])
    return None


def _core_versions() -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


def _by_group(registry: Registry) -> dict[str, dict[str, list[Resource]]]:
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in registry.resources():
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return groups


def _versions(group: str, versions: Iterable[str]) -> list[dict[str, str]]:
    ordered = sorted(versions, key=_version_order, reverse=True)
    return [{"groupVersion": api_version(group, version), "version": version} for version in ordered]


def _version_order(version: str) -> tuple[int, int, str]:
    """Kubernetes' order: v2 before v1 before v1beta1 before v1alpha1 before anything else."""
    digits = version[1:]
    for rank, stage in ((2, "beta"), (1, "alpha")):
        number, separator, rest = digits.partition(stage)
        if separator and number.isdigit():
            return rank, whole_number(number) * 1000 + whole_number(rest or "0"), version
    return (3, whole_number(digits) * 1000, version) if version[:1] == "v" and digits.isdigit() else (0, 0, version)


def _group_entry(group: str, versions: Iterable[str]) -> dict[str, Any]:
    ordered = _versions(group, versions)
    return {"name": group, "versions": ordered, "preferredVersion": ordered[0]}


def _group_list(registry: Registry) -> dict[str, Any]:
    groups = [_group_entry(group, versions) for group, versions in _by_group(registry).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(registry: Registry, name: str) -> dict[str, Any] | None:
    versions = _by_group(registry).get(name)
    if not versions or not name:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group_entry(name, versions)}


def _resource_list(registry: Registry, group: str, version: str) -> ApiResponse | None:
    versions = _by_group(registry).get(group, {})
    resources = versions.get(version)
    if not resources:
        if any(registry.is_builtin(group, listed) for listed in versions):
            return ApiResponse.of_error(NotFound("the server could not find the requested resource", details={}))
        return None
    entries: list[dict[str, Any]] = []
    for resource in _in_order(resources):
        entries.append(_entry(resource))
        for name, info in resource.subresources.items():
            entry: dict[str, Any] = {
                "name": f"{resource.plural}/{name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": info.kind,
                "verbs": list(info.verbs),
            }
            if (info.group, info.version) != (resource.group, resource.version):
                entry.update(group=info.group, version=info.version)
            entries.append({key: value for key, value in entry.items() if value != "" or key == "singularName"})
    body: dict[str, Any] = {
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": entries,
    }
    if group:
        body["apiVersion"] = "v1"
    return ApiResponse(200, body)


def _in_order(resources: Iterable[Resource]) -> list[Resource]:
    """Built-in resources by name, custom ones in the order of their definitions."""
    return sorted(resources, key=lambda resource: "" if resource.custom is not None else resource.plural)


def _entry(resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "storageVersionHash": resource.storage_version_hash,
    }
    return {key: value for key, value in entry.items() if value not in ("", [])}


#: The media type of aggregated discovery, which clients keep as long as its ETag is the same.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _aggregated(registry: Registry, *, core: bool) -> ApiResponse:
    items = []
    for group, versions in _by_group(registry).items():
        if bool(group) == core:
            continue
        entries = [
            {
                "version": version["version"],
                "freshness": "Current",
                "resources": [
                    _aggregated_entry(one)
                    for one in sorted(versions[version["version"]], key=lambda resource: resource.plural)
                ],
            }
            for version in _versions(group, versions)
        ]
        metadata = {"name": group} if group else {}
        items.append({"metadata": metadata, "versions": entries})
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }
    return ApiResponse(200, body, content_type=AGGREGATED)


def _aggregated_entry(resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": _response_kind(resource, info.group, info.version, info.kind),
                "verbs": list(info.verbs),
            }
            for name, info in resource.subresources.items()
        ]
    return entry


def _response_kind(resource: Resource, group: str, version: str, kind: str) -> dict[str, str]:
    # kube-apiserver leaves out what goes without saying, except for custom resources, and clients know it.
    if resource.custom is None and (group, version) == (resource.group, resource.version):
        group = version = ""
    return {"group": group, "version": version, "kind": kind}
