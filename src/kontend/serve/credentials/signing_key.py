"""The key that signs the tokens of service accounts.

With the ``cryptography`` package (extra ``tls``) it is an RSA key, whose public half others can fetch to check tokens.
Without it, it is a random secret: the server knows its own tokens again, and publishes no key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kontend.cluster.settings import Signer
from kontend.safe_files import write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import rsa

_BITS: Final = 2048
_EXPONENT: Final = 65537


def signing_key(directory: Path | None = None) -> Signer:
    """Return the key in ``directory``, or a new one, which is then kept there."""
    try:
        import cryptography  # noqa: F401 - only whether it is there
    except ImportError:
        return SecretKey(_kept(directory, "sa.secret", lambda: secrets.token_bytes(32)))
    return RsaKey(_kept(directory, "sa.key", _new_rsa_key))


def _kept(directory: Path | None, name: str, make: Callable[[], bytes]) -> bytes:
    path = None if directory is None else directory / name
    if path is not None and path.exists():
        return path.read_bytes()
    made = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, made)
    return made


class SecretKey:
    """A shared secret (HS256)."""

    algorithm: str = "HS256"

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.key_id = _text(hashlib.sha256(b"kontend" + secret).digest())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``."""
        return hmac.digest(self._secret, data, "sha256")

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Return whether a signature is this key's."""
        return hmac.compare_digest(self.sign(data), signature)

    def public_keys(self) -> list[dict[str, str]]:
        """No keys: a secret has no public half."""
        return []


class RsaKey:
    """An RSA key (RS256), as kube-apiserver uses it."""

    algorithm: str = "RS256"

    def __init__(self, pem: bytes) -> None:
        from cryptography.hazmat.primitives import serialization

        key = serialization.load_pem_private_key(pem, password=None)
        self._key: rsa.RSAPrivateKey = key  # type: ignore[assignment]
        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.key_id = _text(hashlib.sha256(public).digest())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``; always the same for the same data."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        return self._key.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Return whether a signature is this key's."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        try:
            self._key.public_key().verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return False
        return True

    def public_keys(self) -> list[dict[str, str]]:
        """Return the public key."""
        numbers = self._key.public_key().public_numbers()
        key = {"use": "sig", "kty": "RSA", "kid": self.key_id, "alg": self.algorithm}
        return [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]


class LaterKey:
    """A key that is made when it is first needed: to make one takes longer than to bootstrap the server."""

    algorithm: str
    key_id: str

    def __init__(self, make: Callable[[], Signer]) -> None:
        self._make = make

    @cached_property
    def _key(self) -> Signer:
        return self._make()

    def __getattr__(self, name: str) -> str:
        if name not in ("algorithm", "key_id"):
            raise AttributeError(name)
        return str(getattr(self._key, name))

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``."""
        return self._key.sign(data)

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Return whether a signature is this key's."""
        return self._key.verify(data, signature)

    def public_keys(self) -> list[dict[str, str]]:
        """Return the public keys."""
        return self._key.public_keys()


def _new_rsa_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(_EXPONENT, _BITS)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))
