"""Tokens of service accounts, as far as they can be had without keys.

A token request is answered with a token that names the service account. It is not signed, because this
server does not check it.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import invalid, not_found
from kontend.kube.field_errors import invalid as invalid_field

_HOUR: Final = 3600
_SHORTEST: Final = 600
_AUDIENCE: Final = "https://kubernetes.default.svc"


def request_token(state: State, target: Target, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a TokenRequest for a service account."""
    if state.find("serviceaccounts", target.key) is None:
        raise not_found("", "serviceaccounts", target.name)
    spec = body.get("spec")
    asked: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    seconds = asked.get("expirationSeconds")
    seconds = seconds if isinstance(seconds, int) and not isinstance(seconds, bool) else _HOUR
    if seconds < _SHORTEST:
        error = invalid_field("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        raise invalid("authentication.k8s.io", "TokenRequest", "", [error])
    audiences = list(asked.get("audiences") or [_AUDIENCE])
    claims = {
        "aud": audiences,
        "exp": state.now + seconds,
        "iat": state.now,
        "sub": f"system:serviceaccount:{target.namespace}:{target.name}",
    }
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "creationTimestamp": rfc3339(state.now),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": asked.get("boundObjectRef")},
        "status": {
            "token": ".".join((_part({"alg": "none"}), _part(claims), "")),
            "expirationTimestamp": rfc3339(state.now + seconds),
        },
    }


def _part(value: Mapping[str, Any]) -> str:
    return urlsafe_b64encode(canonical(value)).decode().rstrip("=")
