"""The signing controller: issues the certificates of signing requests that have been approved.

It serves the signers of Kubernetes whose certificates the API server accepts or kubelets present. A request that breaks
the rules of its signer gets the condition ``Failed``. The signing itself needs a key, so the shell brings it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

from kontend.controllers.built_in import BuiltIn
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Request, Result

REQUESTS: Final = "CertificateSigningRequest.certificates.k8s.io/v1"
#: The longest lifetime of a certificate, a year, and the shortest, in seconds.
_LONGEST: Final = 365 * 24 * 3600
_SHORTEST: Final = 600

#: Signs a request (PEM) of a signer for some usages and a number of seconds, and returns the certificate (PEM).
Sign = Callable[[str, bytes, Sequence[str], int], bytes]


class RefusedRequest(Exception):
    """A request breaks the rules of its signer; the message is that of kube-controller-manager."""


class CertificateSigner(BuiltIn):
    """Issues certificates for approved requests."""

    name = "certificatesigningrequest-signing-controller"
    kind = REQUESTS

    def __init__(self, signers: Sequence[str], sign: Sign) -> None:
        self._signers = tuple(signers)
        self._sign = sign

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Signs an approved request that has no certificate yet."""
        try:
            csr = await api.get(REQUESTS, request)
        except NotFound:
            return None
        spec, status = csr["spec"], csr.get("status") or {}
        if status.get("certificate") or spec["signerName"] not in self._signers:
            return None
        conditions = [condition["type"] for condition in status.get("conditions") or ()]
        if "Approved" not in conditions or {"Denied", "Failed"} & set(conditions):
            return None
        seconds = min(max(spec.get("expirationSeconds") or _LONGEST, _SHORTEST), _LONGEST)
        try:
            pem = self._sign(spec["signerName"], b64decode(spec["request"]), spec.get("usages") or (), seconds)
        except RefusedRequest as error:
            failed: dict[str, Any] = {"type": "Failed", "status": "True"}
            failed |= {"reason": "SignerValidationFailure", "message": str(error)}
            csr["status"] = {**status, "conditions": [*(status.get("conditions") or ()), failed]}
        else:
            csr["status"] = {**status, "certificate": b64encode(pem).decode()}
        await api.status.update(csr)
        return None
