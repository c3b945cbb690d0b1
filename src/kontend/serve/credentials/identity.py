"""Bearer tokens and their users, and the client behind a connection.

Tokens are never printed: a :class:`Tokens` shows its users' names only.
:mod:`~kontend.serve.credentials.authentication` decides whose a request is.
"""

from __future__ import annotations

import csv
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kontend.cluster.users import ADMIN, AUTHENTICATED, MASTERS, User

#: The user of requests without credentials, which may read the health and the version of the server.
NOBODY: Final = User("", ())
PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The client of a request: its user, its program, its address and its connection's number."""

    user: User
    user_agent: str
    address: str
    connection: int


class UsersByToken(Mapping[str, User]):
    """Users by their tokens.

    Tokens are looked up by a keyed hash: the time that takes says nothing of how much of a guess is right.
    """

    def __init__(self, users: Mapping[str, User]) -> None:
        self._key = secrets.token_bytes(32)
        self._users = {self._digest(token): user for token, user in users.items()}
        self._tokens = tuple(users)

    def _digest(self, token: str) -> bytes:
        return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32).digest()

    def __getitem__(self, token: str) -> User:
        return self._users[self._digest(token)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __len__(self) -> int:
        return len(self._users)


class BadToken(ValueError):
    """A ``--token`` that is not ``name=secret``, or a line of a ``--token-file`` that is not a token and a user."""


class Tokens:
    """Bearer tokens and the users they stand for.

    >>> tokens = Tokens.parse(["ann=s3cret"])
    >>> tokens.user_of("Bearer s3cret")
    User(name='ann', groups=('system:masters', 'system:authenticated'), uid='ann', extra=())
    >>> tokens.user_of("Bearer guess")
    >>> tokens
    Tokens(ann)
    """

    def __init__(self, named: Iterable[tuple[str, str]] = (), users: Mapping[str, User] | None = None) -> None:
        self._by_name = dict(named)
        admins = {secret: User(name, (MASTERS, AUTHENTICATED), name) for name, secret in self._by_name.items()}
        self._users = UsersByToken({**(users or {}), **admins})

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Tokens:
        """Tokens as the command line gives them."""
        named = []
        for text in texts:
            name, equals, secret = text.partition("=")
            if not equals or not name or not secret:
                # The text may be a secret without a name: it must not be shown.
                raise BadToken("expected name=secret, such as --token ann=s3cret")
            if not (secret.isascii() and secret.isprintable() and " " not in secret):
                raise BadToken(f"the secret of {name} must be of printable ASCII characters without spaces")
            named.append((name, secret))
        if len({name for name, _ in named}) < len(named) or len({secret for _, secret in named}) < len(named):
            raise BadToken("names and secrets must differ from each other")
        return cls(named)

    def with_file(self, path: Path) -> Tokens:
        """These tokens and those of a file in the format of kube-apiserver: ``token,user,uid,"group1,group2"``."""
        users = dict(self._users)
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file, skipinitialspace=True), start=1):
                if not row or not "".join(row).strip():
                    continue
                if len(row) < 3 or not row[0] or not row[1]:
                    raise BadToken(f'{path}, line {number}: expected token,user,uid,"group1,group2"')
                groups = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) > 3 else ()
                users[row[0]] = User(row[1], (*groups, AUTHENTICATED), row[2])
        return Tokens(self._by_name.items(), users)

    @property
    def users(self) -> Mapping[str, User]:
        """The users by their tokens."""
        return self._users

    def __bool__(self) -> bool:
        return bool(self._users)

    def __repr__(self) -> str:
        return f"Tokens({', '.join(self._by_name)})"

    def secrets(self) -> dict[str, str]:
        """Names and secrets, for a kubeconfig."""
        return dict(self._by_name)

    def user_of(self, authorization: str) -> User | None:
        """Return the user that an ``Authorization`` header stands for, or None."""
        if not self._users:
            return ADMIN
        return self._users.get(bearer(authorization))


def bearer(authorization: str) -> str:
    """Return the token in an ``Authorization`` header, or nothing.

    >>> bearer("Bearer s3cret")
    's3cret'
    """
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""
