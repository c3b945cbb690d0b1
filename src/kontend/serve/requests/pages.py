"""The pages of kube-apiserver that are not resources: the index of paths, health checks in detail, OpenAPI."""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.meta.names import api_version
from kontend.serve.http.media import Document

_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_CHECKS: Final = ("ping", "log", "etcd")


def respond(state: State, request: ApiRequest) -> ApiResponse | None:
    """Return the answer to a request for a page, or None when the path is something else."""
    path = request.path
    if path.startswith("/api"):
        return None
    if path == "/":
        return ApiResponse(200, _index(state))
    if path.startswith("/openapi/"):
        return _openapi(state, request)
    if path == "/.well-known/openid-configuration":
        return ApiResponse(200, _openid_configuration(state))
    if path == "/openid/v1/jwks":
        keys = [] if state.settings.signer is None else state.settings.signer.public_keys()
        return ApiResponse(200, {"keys": keys}, content_type="application/jwk-set+json")
    root, _, check = path[1:].partition("/")
    if "/" + root in _HEALTH:
        if check:
            return ApiResponse(200, "ok") if check in _CHECKS else ApiResponse(404, "404 page not found\n")
        if "verbose" in request.query:
            lines = [f"[+]{check_name} ok" for check_name in _CHECKS]
            return ApiResponse(200, "\n".join([*lines, f"{root} check passed", ""]))
        return ApiResponse(200, "ok")
    return None


def _openid_configuration(state: State) -> dict[str, Any]:
    """Return the description of the issuer of service account tokens."""
    settings = state.settings
    algorithms = ["RS256"] if settings.signer is None else [settings.signer.algorithm]
    return {
        "issuer": settings.issuer,
        "jwks_uri": f"{settings.url}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
    }


def _index(state: State) -> dict[str, Any]:
    paths = {"/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics"}
    paths |= {"/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/readyz", "/version"}
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
