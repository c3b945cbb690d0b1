"""The configuration of an API server, as far as it decides about answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from kontend.cluster.users import User

#: The issuer of service account tokens, and the audience of those that name none.
ISSUER: Final = "https://kubernetes.default.svc"


class Signer(Protocol):
    """A key that signs tokens and knows its own signatures."""

    algorithm: str
    key_id: str

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``."""

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Report whether a signature is this key's."""

    def public_keys(self) -> list[dict[str, str]]:
        """Return the public keys, as a JSON Web Key Set lists them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of kube-apiserver; the defaults are those of a cluster without any security."""

    #: Requests need permission by roles.
    rbac: bool = False
    #: Signs the tokens of service accounts; without one they are not signed and stand for no one.
    signer: Signer | None = None
    issuer: str = ISSUER
    #: The address at which clients reach the server.
    url: str = ""
    #: Users by their bearer tokens; never shown.
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    #: Admission plugins that are on beside those that always are.
    plugins: frozenset[str] = frozenset()
