"""cert-manager: two CertificateRequests for one revision block the issuance.

Link: https://github.com/cert-manager/cert-manager/issues/4956
Archetype: A4

The requests controller creates a CertificateRequest with a generated name for the next revision, unless the
cache has one. With a stale cache it made two. The issuing controller acts only when exactly one request of the
revision exists and otherwise waits for the other controller to tidy up, which never happened.

Interleaving: list 0 requests of revision 1 -> create a -> list 0 requests -> create b -> the issuer waits
forever

Fix: name the request after the certificate and the revision.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object, set_controller_reference
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CERTIFICATE = "Certificate.cert-manager.io/v1"
REQUEST = "CertificateRequest.cert-manager.io/v1"


class Requests(Controller):
    """Creates the request of a certificate's next revision."""

    kind = CERTIFICATE
    owns = (REQUEST,)

    async def reconcile(self, request: Request, api: Api) -> None:
        certificate = await api.get(CERTIFICATE, request)
        if (certificate.get("status") or {}).get("revision") or await api.list(REQUEST, namespace=request.namespace):
            return
        if not (certificate.get("status") or {}).get("issuing"):
            certificate["status"] = {"issuing": True}
            await api.status.update(certificate)
        wanted = self.request(request)
        set_controller_reference(certificate, wanted)
        with suppress(AlreadyExists):
            await api.create(wanted)

    def request(self, request: Request) -> dict[str, Any]:
        return new_object(REQUEST, generate_name=f"{request.name}-", namespace=request.namespace)


class Issuing(Controller):
    """Records the revision when there is exactly one request for it."""

    kind = CERTIFICATE
    owns = (REQUEST,)

    async def reconcile(self, request: Request, api: Api) -> None:
        requests = await api.live.list(REQUEST, namespace=request.namespace)
        certificate = await api.get(CERTIFICATE, request)
        if len(requests) == 1 and not (certificate.get("status") or {}).get("revision"):
            certificate["status"] = {"issuing": False, "revision": 1}
            await api.status.update(certificate)


class Fixed(Requests):
    name = "requests"

    def request(self, request: Request) -> dict[str, Any]:
        return new_object(REQUEST, f"{request.name}-1", namespace=request.namespace)


buggy = Scenario(
    controllers=[Requests(), Issuing()],
    crds=[permissive_crd(CERTIFICATE), permissive_crd(REQUEST)],
    objects=[new_object(CERTIFICATE, "tls", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Issuing()])
