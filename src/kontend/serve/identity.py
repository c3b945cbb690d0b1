"""Who sends a request: the user that a bearer token stands for, and the client behind a connection.

Without tokens everyone is ``system:admin``, as with a kubeconfig of a fresh cluster. With tokens, a request that brings
none of them is answered with 401. Tokens are never printed: a :class:`Tokens` shows its users' names only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class User:
    """Who a request is from, as far as the server is concerned."""

    name: str = "system:admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")


ADMIN: Final = User()
#: Who has not said who they are. They may ask whether the server is well, and which version it is.
NOBODY: Final = User("", ())
PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Which client a request is from: its user, its program, its address and its connection's number."""

    user: User
    user_agent: str
    address: str
    connection: int


class BadToken(ValueError):
    """A ``--token`` that is not ``name=secret``."""


class Tokens:
    """Bearer tokens and the users they stand for.

    >>> tokens = Tokens.parse(["ann=s3cret"])
    >>> tokens.user_of("Bearer s3cret")
    User(name='ann', groups=('system:masters', 'system:authenticated'))
    >>> tokens.user_of("Bearer guess")
    >>> tokens
    Tokens(ann)
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._by_name = dict(secrets)
        self._users = {secret: User(name) for name, secret in self._by_name.items()}

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Tokens:
        """Tokens as the command line gives them."""
        secrets = []
        for text in texts:
            name, equals, secret = text.partition("=")
            if not equals or not name or not secret:
                # The text may be a secret without a name: it must not be shown.
                raise BadToken("expected name=secret, such as --token ann=s3cret")
            if not (secret.isascii() and secret.isprintable() and " " not in secret):
                raise BadToken(f"the secret of {name} must be of printable ASCII characters without spaces")
            secrets.append((name, secret))
        if len({name for name, _ in secrets}) < len(secrets) or len({secret for _, secret in secrets}) < len(secrets):
            raise BadToken("names and secrets must differ from each other")
        return cls(secrets)

    def __bool__(self) -> bool:
        return bool(self._users)

    def __repr__(self) -> str:
        return f"Tokens({', '.join(self._by_name)})"

    def secrets(self) -> dict[str, str]:
        """Names and secrets, for a kubeconfig."""
        return dict(self._by_name)

    def user_of(self, authorization: str) -> User | None:
        """The user that an ``Authorization`` header stands for; None when it must be refused."""
        if not self._users:
            return ADMIN
        scheme, _, secret = authorization.partition(" ")
        return self._users.get(secret.strip()) if scheme.lower() == "bearer" else None
