"""Users: the name, groups, uid and extra attributes that authentication finds for a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
_ACCOUNT: Final = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """The sender of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def info(self) -> dict[str, Any]:
        """Return the user as a ``UserInfo`` of the API, without empty fields.

        >>> User("ann", ("dev",)).info()
        {'username': 'ann', 'groups': ['dev']}
        """
        extra = {key: list(values) for key, values in self.extra}
        info = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in info.items() if value}


ADMIN: Final = User("system:admin", (MASTERS, AUTHENTICATED), "system:admin")
ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))
#: The server itself, as the sender of its own requests.
SERVER: Final = User("system:apiserver", (MASTERS, AUTHENTICATED))


def user_of(info: Mapping[str, Any]) -> User:
    """Return the user that the fields of a review describe."""
    extra = info.get("extra") or {}
    pairs = tuple((str(key), tuple(map(str, values or ()))) for key, values in sorted(extra.items()))
    name = info.get("user") or info.get("username") or ""
    return User(str(name), tuple(map(str, info.get("groups") or ())), str(info.get("uid") or ""), pairs)


def service_account_user(namespace: str, name: str, uid: str = "") -> User:
    """Return the user that a service account is.

    >>> service_account_user("default", "web").groups
    ('system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated')
    """
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"{_ACCOUNT}{namespace}:{name}", groups, uid)


def service_account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account with this user name.

    >>> service_account_of("system:serviceaccount:default:web")
    ('default', 'web')
    """
    namespace, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    return (namespace, account) if name.startswith(_ACCOUNT) and colon and namespace and account else None


def with_usual_groups(user: User) -> User:
    """Add the groups that everybody of a kind is in: service accounts, and all who are not anonymous."""
    groups = user.groups
    account = service_account_of(user.name)
    if account is not None and not groups:
        groups = service_account_user(*account).groups
    extra = UNAUTHENTICATED if user.name == ANONYMOUS.name else AUTHENTICATED
    if AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, extra)
    return replace(user, groups=groups)
