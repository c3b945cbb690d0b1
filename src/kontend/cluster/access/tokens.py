"""Tokens of service accounts: signed statements of who the bearer is, for whom and until when.

A token request is answered with a JWT as kube-apiserver makes it. The key belongs to the shell, which hands it in as a
:class:`Signer`; signing is a function of key and claims, so the server stays one. Without a signer (in a unit test) the
token is not signed, and nobody can log in with it.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from kontend.cluster.request import Target
from kontend.cluster.settings import Settings, Signer
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.cluster.users import User, service_account_user
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import BadRequest, conflict, invalid, not_found
from kontend.kube.field_errors import go_quote
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.meta.names import Key

_HOUR: Final = 3600
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_EXTRA: Final = "authentication.kubernetes.io"
#: The kinds that a token may be bound to: with the object goes the token.
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class BadServiceToken(Exception):
    """A token that does not stand for anyone; the message says why."""


def request_token(state: State, target: Target, body: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Return the answer to a TokenRequest for a service account."""
    metadata = body["metadata"]
    for field, expected in (("name", target.name), ("namespace", target.namespace)):
        if metadata.get(field) not in (None, "", expected):
            why = f"must match the service account {field} if specified"
            error = invalid_field(f"metadata.{field}", metadata[field], why)
            raise invalid("authentication.k8s.io", "TokenRequest", target.name, [error])
    version = state.find("serviceaccounts", target.key)
    if version is None:
        raise not_found("", "serviceaccounts", target.name)
    spec = body.get("spec")
    asked: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    seconds = asked.get("expirationSeconds")
    seconds = seconds if isinstance(seconds, int) and not isinstance(seconds, bool) else _HOUR
    _check_duration(seconds)
    audiences = list(asked.get("audiences") or [state.settings.issuer])
    uid = str(version.content()["metadata"].get("uid", ""))
    private: dict[str, Any] = {
        "namespace": target.namespace,
        "serviceaccount": {"name": target.name, "uid": uid},
        **_bound(state, target, asked.get("boundObjectRef")),
    }
    state, token_id = state.next_uid()
    claims = {
        "aud": audiences,
        "exp": state.now + seconds,
        "iat": state.now,
        "iss": state.settings.issuer,
        "jti": token_id,
        "kubernetes.io": private,
        "nbf": state.now,
        "sub": service_account_user(target.namespace, target.name).name,
    }
    return state, {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            **metadata,
            "name": target.name,
            "namespace": target.namespace,
            "uid": uid,
            "creationTimestamp": rfc3339(state.now),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": asked.get("boundObjectRef")},
        "status": {
            "token": _encode(state.settings.signer, claims),
            "expirationTimestamp": rfc3339(state.now + seconds),
        },
    }


def _check_duration(seconds: int) -> None:
    if seconds < _SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    error = invalid_field("spec.expirationSeconds", seconds, why)
    raise invalid("authentication.k8s.io", "TokenRequest", "", [error])


def _bound(state: State, target: Target, reference: Any) -> dict[str, Any]:
    """Return the claim that binds a token to an object."""
    if not isinstance(reference, Mapping):
        return {}
    kind, api_version, name = (str(reference.get(field) or "") for field in ("kind", "apiVersion", "name"))
    group, _, version = api_version.rpartition("/")
    plural = _BINDABLE.get(kind)
    if plural is None or group:
        raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    if not name:
        raise BadRequest("Name parameter required.")
    stored = state.find(plural, Key("" if plural == "nodes" else target.namespace, name))
    if stored is None:
        raise not_found("", plural, name)
    if kind == "Pod" and (stored.content().get("spec") or {}).get("serviceAccountName", "") != target.name:
        why = f"cannot bind token for serviceaccount {go_quote(target.name)} to pod running with different "
        raise BadRequest(f"{why}serviceaccount name.")
    uid = str(stored.content()["metadata"].get("uid", ""))
    wanted = reference.get("uid")
    if wanted and wanted != uid:
        why = f"the UID in the bound object reference ({wanted}) does not match the UID in record. The object might "
        raise conflict("", kind, name, why + "have been deleted and then recreated")
    claims: dict[str, Any] = {kind.lower(): {"name": name, "uid": uid}}
    node_name = (stored.content().get("spec") or {}).get("nodeName") if kind == "Pod" else None
    node = state.find("nodes", Key("", node_name)) if node_name else None
    if node is not None:
        claims["node"] = {"name": node_name, "uid": node.content()["metadata"].get("uid", "")}
    return claims


def authenticate(state: State, token: str, audiences: Sequence[str] = ()) -> tuple[User, list[str]]:
    """Return the user of a token and the audiences it is for, of those asked for. Raises :class:`BadServiceToken`."""
    claims = _decode(state.settings, token)
    wanted = list(audiences) or [state.settings.issuer]
    allowed = claims.get("aud") or []
    common = [audience for audience in wanted if audience in allowed]
    if not common:
        raise BadServiceToken(
            f"token audiences {_quoted(allowed)} is invalid for the target audiences {_quoted(wanted)}"
        )
    if state.now >= claims.get("exp", 0):
        raise BadServiceToken("service account token has expired")
    if state.now < claims.get("nbf", 0):
        raise BadServiceToken("service account token is not valid yet")
    private = claims.get("kubernetes.io") or {}
    namespace, account = private.get("namespace", ""), private.get("serviceaccount") or {}
    _check_exists(state, "serviceaccounts", namespace, account, "service account token has been invalidated")
    extra = [(f"{_EXTRA}/credential-id", (f"JTI={claims.get('jti', '')}",))]
    for kind, plural in _BINDABLE.items():
        bound = private.get(kind.lower())
        if bound:
            where = "" if plural == "nodes" else namespace
            if plural != "nodes" or "pod" not in private:
                _check_exists(state, plural, where, bound, "service account token has been invalidated")
            extra.append((f"{_EXTRA}/{kind.lower()}-name", (bound["name"],)))
            extra.append((f"{_EXTRA}/{kind.lower()}-uid", (bound["uid"],)))
    user = service_account_user(namespace, account.get("name", ""), account.get("uid", ""))
    return User(user.name, user.groups, user.uid, tuple(sorted(extra))), common


def _check_exists(state: State, plural: str, namespace: str, wanted: Mapping[str, Any], why: str) -> None:
    version = state.find(plural, Key(namespace, str(wanted.get("name", ""))))
    if version is None or version.content()["metadata"].get("uid") != wanted.get("uid"):
        raise BadServiceToken(why)


def _quoted(audiences: Sequence[str]) -> str:
    return "[" + " ".join(go_quote(str(audience)) for audience in audiences) + "]"


def _encode(signer: Signer | None, claims: Mapping[str, Any]) -> str:
    header = {"alg": "none"} if signer is None else {"alg": signer.algorithm, "kid": signer.key_id}
    signed = f"{_part(canonical(header))}.{_part(canonical(claims))}"
    return f"{signed}." if signer is None else f"{signed}.{_part(signer.sign(signed.encode()))}"


def _decode(settings: Settings, token: str) -> dict[str, Any]:
    """Return the claims of a token that this server signed."""
    signed, _, signature = token.rpartition(".")
    header, dot, payload = signed.partition(".")
    if settings.signer is None or not dot:
        raise BadServiceToken("")
    try:
        claims = orjson.loads(_unpart(payload))
        algorithm = orjson.loads(_unpart(header))["alg"]
        ours = algorithm == settings.signer.algorithm and settings.signer.verify(signed.encode(), _unpart(signature))
    except (ValueError, KeyError, TypeError):
        raise BadServiceToken("") from None
    if not ours or not isinstance(claims, dict) or claims.get("iss") != settings.issuer:
        raise BadServiceToken("")
    return claims


def _part(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _unpart(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
