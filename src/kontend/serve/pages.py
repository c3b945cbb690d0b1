"""The pages of kube-apiserver that are not resources: the index of paths, health checks in detail, OpenAPI."""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.request import ApiRequest
from kontend.cluster.response import ApiResponse
from kontend.cluster.state import State
from kontend.kube.meta.names import api_version
from kontend.serve.media import Document

_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_CHECKS: Final = ("ping", "log", "etcd")


def respond(state: State, request: ApiRequest) -> ApiResponse | None:
    """The answer to a request for a page, or None when the path is something else."""
    path = request.path
    if path.startswith("/api"):
        return None
    if path == "/":
        return ApiResponse(200, _index(state))
    if path.startswith("/openapi/"):
        return _openapi(state, request)
    root, _, check = path[1:].partition("/")
    if "/" + root in _HEALTH:
        if check:
            return ApiResponse(200, "ok") if check in _CHECKS else ApiResponse(404, "404 page not found\n")
        if "verbose" in request.query:
            lines = [f"[+]{each} ok" for each in _CHECKS]
            return ApiResponse(200, "\n".join([*lines, f"{root} check passed", ""]))
        return ApiResponse(200, "ok")
    return None


def _index(state: State) -> dict[str, Any]:
    paths = {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}
    for resource in state.registry.resources():
        if resource.group:
            paths |= {f"/apis/{resource.group}", f"/apis/{api_version(resource.group, resource.version)}"}
    return {"paths": sorted(paths)}


def _openapi(state: State, request: ApiRequest) -> ApiResponse | None:
    from kontend.serve.openapi import documents as openapi  # large, and only some clients ask

    document = openapi.respond(state.registry, request)
    if document is None or document.code == 404:
        return ApiResponse(404, "404 page not found\n")
    return ApiResponse(document.code, Document(document.body, document.content_type, document.etag))
