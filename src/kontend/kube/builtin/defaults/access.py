"""Defaults of role bindings, tokens, priorities and the server's own flow control."""

from __future__ import annotations

from typing import Final

from kontend.kube.json_types import Json

_RBAC: Final = "rbac.authorization.k8s.io"
_TOKEN_SECONDS: Final = 3600


def role_binding(obj: Json) -> None:
    """Roles, users and groups are of the RBAC group; service accounts of the core group."""
    reference = obj["roleRef"]
    reference["apiGroup"] = reference.get("apiGroup") or _RBAC
    for subject in obj.get("subjects", ()):
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def token_request(obj: Json) -> None:
    """A token is good for an hour."""
    if obj["spec"].get("expirationSeconds") is None:
        obj["spec"]["expirationSeconds"] = _TOKEN_SECONDS


def priority_class(obj: Json) -> None:
    """Higher priority preempts."""
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def flow_schema(obj: Json) -> None:
    """A schema without precedence is matched late."""
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000


def priority_level(obj: Json) -> None:
    """Shares and queues of a priority level."""
    limited, exempt = obj["spec"].get("limited"), obj["spec"].get("exempt")
    if limited is not None:
        if limited.get("nominalConcurrencyShares") is None:
            limited["nominalConcurrencyShares"] = 30
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[name] = queuing.get(name) or value
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
