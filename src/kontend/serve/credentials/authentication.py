"""Authentication: whose a request is, and as whom it is carried out.

A client certificate, a bearer token of the command line or of a file, or a token of a service account identifies the
client. Where none of them is required, everyone is ``system:admin``, as with the kubeconfig of a fresh cluster. Where
one is, a request without any is refused with 401; under RBAC it is one of ``system:anonymous``, whose roles decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

from kontend.cluster.access.attributes import Attributes
from kontend.cluster.access.rbac import require
from kontend.cluster.access.tokens import BadServiceToken, authenticate
from kontend.cluster.state import State
from kontend.cluster.users import ADMIN, ANONYMOUS, AUTHENTICATED, User, service_account_of, with_usual_groups
from kontend.kube.errors import BadRequest, Unauthorized
from kontend.serve.credentials.identity import NOBODY, PUBLIC, Tokens, bearer
from kontend.serve.http.request_parser import Incoming

_GROUP: Final = "authentication.k8s.io"
_EXTRA: Final = "impersonate-extra-"


class Authenticator:
    """Finds the users of requests."""

    def __init__(self, tokens: Tokens, *, certificates: bool = False) -> None:
        """``certificates`` says that clients may be known by their certificates."""
        self._tokens = tokens
        #: Requests without credentials are not the administrator's.
        self.required = bool(tokens) or certificates

    def user_of(self, state: State, headers: Mapping[str, str], certificate: Mapping[str, Any], path: str) -> User:
        """Return the user of a request. Raises :class:`Unauthorized`.

        The names of ``headers`` are in lower case; ``certificate`` is as ``ssl`` decodes it.
        """
        authorization = headers.get("authorization", "")
        if authorization:
            token = bearer(authorization)
            user = self._tokens.users.get(token) or _service_account(state, token)
            if user is None and (self.required or state.settings.rbac):
                raise Unauthorized("Unauthorized")
            return user or ADMIN
        if certificate:
            return _subject(certificate)
        if state.settings.rbac:
            return ANONYMOUS
        if not self.required:
            return ADMIN
        if path in PUBLIC:
            return NOBODY
        raise Unauthorized("Unauthorized")


def _service_account(state: State, token: str) -> User | None:
    if token.count(".") != 2:
        return None
    try:
        return authenticate(state, token)[0]
    except BadServiceToken:
        return None


def _subject(certificate: Mapping[str, Any]) -> User:
    """Return the user that a certificate names: its common name, in the groups that are its organizations."""
    parts = [pair for name in certificate.get("subject") or () for pair in name]
    names = [value for key, value in parts if key == "commonName"]
    groups = [value for key, value in parts if key == "organizationName"]
    if not names:
        raise Unauthorized("Unauthorized")
    return User(names[-1], (*groups, AUTHENTICATED))


def impersonated(state: State, user: User, incoming: Incoming) -> User | None:
    """Return the user in whose name a request is to be carried out, if ``user`` may do that; None without such
    headers."""
    if "impersonate-" not in "\n".join(incoming.headers):  # quicker than a look at each of them
        return None
    name = incoming.headers.get("impersonate-user", "")
    groups = incoming.values("impersonate-group")
    uid = incoming.headers.get("impersonate-uid", "")
    extra = {
        unquote(key.removeprefix(_EXTRA)): incoming.values(key) for key in incoming.headers if key.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            asked = [f"{{Group  {group}    }}" for group in groups]
            asked += [f"{{UserExtra  {value}  {_GROUP}/v1  {key}}}" for key in extra for value in extra[key]]
            asked += [f"{{UID  {uid}  {_GROUP}/v1  }}"] if uid else []
            raise BadRequest(f"requested [{' '.join(asked)}] without impersonating a user")
        return None
    account = service_account_of(name)
    if account is not None:
        require(state, _asked(user, "", "serviceaccounts", account[1], namespace=account[0]))
    else:
        require(state, _asked(user, "", "users", name))
    for group in groups:
        require(state, _asked(user, "", "groups", group))
    for key in sorted(extra):
        for value in extra[key]:
            require(state, replace(_asked(user, _GROUP, "userextras", value), subresource=key))
    if uid:
        require(state, _asked(user, _GROUP, "uids", uid))
    return with_usual_groups(User(name, groups, uid, tuple(sorted(extra.items()))))


def _asked(user: User, group: str, resource: str, name: str, *, namespace: str = "") -> Attributes:
    return Attributes(user, "impersonate", group, "v1", resource, namespace=namespace, name=name)
